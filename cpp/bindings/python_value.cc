#include <cstring>

#include "bindings/python_row.h"
#include "row/value_view.h"

namespace flint {
namespace {

// As collections.namedtuple makes it; names that Python does not take become _0, _1, ...
py::object MakeNamedTuple(const std::vector<py::object>& names) {
  py::list fields;
  for (const py::object& name : names) fields.append(name);
  return py::module_::import("collections")
      .attr("namedtuple")("Row", fields, py::arg("rename") = true);
}

// The names that a tuple of another class declares; none where it declares none.
py::object DeclaredNames(PyObject* value) {
  for (const char* attribute : {"_fields", "__fields__"}) {
    PyObject* names = PyObject_GetAttrString(value, attribute);
    if (names != nullptr) return py::reinterpret_steal<py::object>(names);
    PyErr_Clear();
  }
  return py::object();
}

bool IsMapping(PyObject* value) {
  if (PyDict_Check(value)) return true;
  if (PyTuple_Check(value) || PyList_Check(value)) return false;
  return PyMapping_Check(value) != 0 && PyObject_HasAttrString(value, "keys") != 0;
}

// Something whose order means something, as a list or tuple; null where `value` is not that.
py::object AsSequence(PyObject* value) {
  if (PyList_Check(value) || PyTuple_Check(value)) {
    return py::reinterpret_borrow<py::object>(value);
  }
  bool text = PyUnicode_Check(value) || PyBytes_Check(value) || PyByteArray_Check(value);
  if (text || IsMapping(value) || PyAnySet_Check(value) || PySequence_Check(value) == 0) {
    return py::object();
  }
  auto sequence = py::reinterpret_steal<py::object>(PySequence_List(value));
  PyErr_Clear();
  return sequence;
}

}  // namespace

Result<PythonValue> PythonValue::Make(const ValueLayout& layout, std::string path, StructForm form,
                                      Counts counts) {
  PythonValue value(layout, std::move(path), form);
  bool nested = layout.type.id == TypeId::kStruct || layout.type.IsList();
  if (!nested && layout.fixed && layout.type.id != TypeId::kNull) {
    FLINT_ASSIGN_OR_RETURN(value.scalar_, PythonScalar::Make(layout.type, counts));
  }
  for (const MemberLayout& member : layout.tuple.members) {
    std::string inner = layout.type.IsList()  ? value.path_ + "[]"
                        : value.path_.empty() ? member.name
                                              : value.path_ + "." + member.name;
    FLINT_ASSIGN_OR_RETURN(PythonValue child, Make(member.value, std::move(inner), form, counts));
    if (layout.type.id == TypeId::kMap) child.named_tuple_ = py::type::of(py::tuple());
    value.children_.push_back(std::move(child));
    value.names_.push_back(
        py::reinterpret_steal<py::object>(PyUnicode_InternFromString(member.name.c_str())));
  }
  if (layout.type.id == TypeId::kStruct && form == StructForm::kNamedTuple) {
    value.named_tuple_ = MakeNamedTuple(value.names_);
  }
  return value;
}

Status PythonValue::Wrong(PyObject* value, const std::string& but) const {
  Status status = WrongValue(layout_->type.ToString() + but, value);
  return path_.empty() ? status : status.WithContext("column '" + path_ + "'");
}

Status PythonValue::Write(PyObject* value, size_t at, std::string* out) const {
  if (scalar_.has_value()) {
    Status status = scalar_->ToSlot(value, out->data() + at);
    return status.ok() ? status : status.WithContext("column '" + path_ + "'");
  }
  if (layout_->type.IsBytes()) return WriteBytes(value, out);
  if (layout_->type.IsList()) return WriteList(value, at, out);
  if (layout_->type.id != TypeId::kStruct) return Wrong(value);  // only None is of type null
  if (!layout_->fixed) at = TupleWriter::Append(layout_->tuple, out);
  return WriteTuple(value, at, out);
}

Status PythonValue::WriteBytes(PyObject* value, std::string* out) const {
  if (layout_->type.IsString()) {
    if (!PyUnicode_Check(value)) return Wrong(value);
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) return Wrong(value, " that can be written as UTF-8");
    out->append(text, static_cast<size_t>(size));
    return Status();
  }
  if (PyBytes_Check(value)) {
    out->append(PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value)));
    return Status();
  }
  Py_buffer view;
  if (PyObject_CheckBuffer(value) == 0 || PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) {
    return Wrong(value);
  }
  out->append(static_cast<const char*>(view.buf), static_cast<size_t>(view.len));
  PyBuffer_Release(&view);
  return Status();
}

Status PythonValue::WriteTuple(PyObject* value, size_t at, std::string* out) const {
  TupleWriter tuple(layout_->tuple, out, at);
  if (PyDict_CheckExact(value) || IsMapping(value)) return WriteMapping(value, &tuple, out);
  return WriteSequence(value, &tuple, out);
}

Status PythonValue::WriteMember(size_t k, PyObject* value, TupleWriter* tuple,
                                std::string* out) const {
  const MemberLayout& member = layout_->tuple.members[k];
  if (value == Py_None) {
    if (member.value.type.id == TypeId::kNull) return Status();
    if (!member.nullable) return children_[k].Wrong(value, ", never null");
    tuple->SetNull(member);
    return Status();
  }
  size_t at = member.value.fixed ? tuple->SlotAt(member) : 0;
  FLINT_RETURN_IF_ERROR(children_[k].Write(value, at, out));
  if (!member.value.fixed) tuple->End(member);
  return Status();
}

Status PythonValue::WriteMapping(PyObject* value, TupleWriter* tuple, std::string* out) const {
  Py_ssize_t found = 0;
  bool is_dict = PyDict_CheckExact(value);
  for (size_t k = 0; k < children_.size(); ++k) {
    PyObject* item = is_dict ? Py_XNewRef(PyDict_GetItemWithError(value, names_[k].ptr()))
                             : PyObject_GetItem(value, names_[k].ptr());
    if (item == nullptr && PyErr_Occurred() != nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_KeyError)) return TakePythonError("reading a mapping");
      PyErr_Clear();
    }
    found += item != nullptr ? 1 : 0;
    auto held = py::reinterpret_steal<py::object>(item);
    FLINT_RETURN_IF_ERROR(WriteMember(k, item != nullptr ? item : Py_None, tuple, out));
  }
  return PyObject_Size(value) == found ? Status() : UnknownName(value);
}

Status PythonValue::UnknownName(PyObject* mapping) const {
  try {
    for (py::handle name : py::handle(mapping).attr("keys")()) {
      bool known = false;
      for (const py::object& field : names_) known = known || field.equal(name);
      if (known) continue;
      std::string text = py::str(py::repr(name));
      return Status::Invalid((path_.empty() ? "" : "column '" + path_ + "': ") + "there is no " +
                             (path_.empty() ? "column " : "field ") + text);
    }
  } catch (py::error_already_set& error) {
    error.restore();
    return TakePythonError("reading a mapping");
  }
  return Wrong(mapping, " that stays as it is while it is read");
}

Status PythonValue::CheckNamesOf(PyObject* value) const {
  if (!PyTuple_Check(value) || PyTuple_CheckExact(value)) return Status();
  if (named_tuple_ && Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(named_tuple_.ptr())) {
    return Status();
  }
  py::object declared = DeclaredNames(value);
  if (!declared) return Status();
  auto names = py::reinterpret_steal<py::object>(PySequence_List(declared.ptr()));
  bool same = names && PyList_GET_SIZE(names.ptr()) == static_cast<Py_ssize_t>(names_.size());
  for (size_t k = 0; same && k < names_.size(); ++k) {
    same = names_[k].equal(py::handle(PyList_GET_ITEM(names.ptr(), static_cast<Py_ssize_t>(k))));
  }
  return same ? Status() : Wrong(value, " with its fields in this order");
}

Status PythonValue::WriteSequence(PyObject* value, TupleWriter* tuple, std::string* out) const {
  if (!PyTuple_Check(value) && !PyList_Check(value)) return Wrong(value);
  FLINT_RETURN_IF_ERROR(CheckNamesOf(value));
  for (size_t k = 0; k < children_.size(); ++k) {
    if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(children_.size())) break;
    PyObject* item = PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(k));
    auto held = py::reinterpret_borrow<py::object>(item);
    FLINT_RETURN_IF_ERROR(WriteMember(k, item, tuple, out));
  }
  if (PySequence_Fast_GET_SIZE(value) == static_cast<Py_ssize_t>(children_.size())) {
    return Status();
  }
  return Wrong(value, ", which has " + std::to_string(children_.size()) + " fields");
}

Status PythonValue::WriteElement(uint32_t i, PyObject* value, ListWriter* list,
                                 std::string* out) const {
  const MemberLayout& element = layout_->element();
  if (value == Py_None) {
    if (element.value.type.id == TypeId::kNull) return Status();
    if (!element.nullable) return children_[0].Wrong(value, ", never null");
    list->SetNull(i);
    return Status();
  }
  size_t at = element.value.fixed ? list->SlotAt(i) : 0;
  FLINT_RETURN_IF_ERROR(children_[0].Write(value, at, out));
  if (!element.value.fixed) list->End(i);
  return Status();
}

Status PythonValue::WriteList(PyObject* value, size_t at, std::string* out) const {
  bool items = layout_->type.id == TypeId::kMap && IsMapping(value);
  py::object sequence =
      items ? py::reinterpret_steal<py::object>(PyMapping_Items(value)) : AsSequence(value);
  if (!sequence) return Wrong(value);
  Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.ptr());
  bool sized = layout_->type.id == TypeId::kFixedList;
  if ((sized && count != layout_->type.size) || static_cast<uint64_t>(count) > kRowBytesMax) {
    return Wrong(value, ", not " + std::to_string(count) + " elements");
  }
  ListWriter list = layout_->fixed ? ListWriter(*layout_, out, at)
                                   : ListWriter(*layout_, out, static_cast<uint32_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PySequence_Fast_GET_SIZE(sequence.ptr()) != count) {
      return Wrong(value, " that stays as it is while it is read");
    }
    auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(sequence.ptr(), i));
    FLINT_RETURN_IF_ERROR(WriteElement(static_cast<uint32_t>(i), item.ptr(), &list, out));
  }
  return Status();
}

Result<PyObject*> PythonValue::Read(std::string_view bytes) const {
  if (scalar_.has_value()) {
    if (bytes.size() != layout_->width) return DamagedValue(layout_->type);
    return scalar_->FromSlot(bytes.data());
  }
  const DataType& type = layout_->type;
  auto size = static_cast<Py_ssize_t>(bytes.size());
  if (type.IsString()) {
    PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), size, nullptr);
    if (text != nullptr) return text;
    PyErr_Clear();
    return Status::Corruption("column '" + path_ + "': a stored string is no UTF-8");
  }
  if (type.IsBytes()) return PyBytes_FromStringAndSize(bytes.data(), size);
  if (type.IsList()) return ReadList(bytes);
  if (type.id == TypeId::kStruct) return ReadTuple(bytes);
  return Py_NewRef(Py_None);
}

PyObject* PythonValue::NewTuple() const {
  if (!named_tuple_) return PyDict_New();
  auto* type = reinterpret_cast<PyTypeObject*>(named_tuple_.ptr());
  auto count = static_cast<Py_ssize_t>(children_.size());
  return type == &PyTuple_Type ? PyTuple_New(count) : type->tp_alloc(type, count);
}

bool PythonValue::SetMember(PyObject* tuple, size_t k, PyObject* member) const {
  if (named_tuple_) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(k), member);
    return true;
  }
  bool set = PyDict_SetItem(tuple, names_[k].ptr(), member) == 0;
  Py_DECREF(member);
  return set;
}

Result<PyObject*> PythonValue::ReadTuple(std::string_view bytes) const {
  TupleView view;
  if (!view.Open(layout_->tuple, bytes)) return DamagedValue(layout_->type);
  auto made = py::reinterpret_steal<py::object>(NewTuple());
  if (!made) return TakePythonError("reading a struct");
  for (size_t k = 0; k < children_.size(); ++k) {
    const MemberLayout& member = layout_->tuple.members[k];
    PyObject* item = Py_None;
    if (view.IsNull(member)) {
      Py_INCREF(item);
    } else {
      std::string_view value;
      if (!view.Value(member, &value)) return DamagedValue(layout_->type);
      FLINT_ASSIGN_OR_RETURN(item, children_[k].Read(value));
    }
    if (!SetMember(made.ptr(), k, item)) return TakePythonError("reading a struct");
  }
  return made.release().ptr();
}

Result<PyObject*> PythonValue::ReadList(std::string_view bytes) const {
  ListView view;
  if (!view.Open(*layout_, bytes)) return DamagedValue(layout_->type);
  auto list = py::reinterpret_steal<py::object>(PyList_New(view.count()));
  if (!list) return TakePythonError("reading a list");
  for (uint32_t i = 0; i < view.count(); ++i) {
    PyObject* item = Py_None;
    if (view.IsNull(i)) {
      Py_INCREF(item);
    } else {
      std::string_view value;
      if (!view.Value(i, &value)) return DamagedValue(layout_->type);
      FLINT_ASSIGN_OR_RETURN(item, children_[0].Read(value));
    }
    PyList_SET_ITEM(list.ptr(), i, item);
  }
  return list.release().ptr();
}

}  // namespace flint
