#include "bindings/python_key.h"

#include <array>
#include <string>
#include <utility>

namespace flint {
namespace {

constexpr size_t kLargestWord = 32;

// Room for one slot of a part: on the stack but for fixed-size binaries.
class SlotRoom {
 public:
  explicit SlotRoom(const KeyPart& part) {
    if (part.width > static_cast<int64_t>(kLargestWord))
      raw_.resize(static_cast<size_t>(part.width));
  }
  char* get() { return raw_.empty() ? word_.data() : raw_.data(); }

 private:
  std::array<char, kLargestWord> word_;
  std::string raw_;
};

bool IsBytes(const KeyPart& part) {
  return part.code == KeyCode::kBytes || part.code == KeyCode::kOpenBytes;
}

bool IsNested(const KeyPart& part) {
  return part.code == KeyCode::kStruct || part.code == KeyCode::kList ||
         part.code == KeyCode::kFixedList;
}

Status InColumn(const KeyPart& part, const Status& status) {
  return status.ok() ? status : status.WithContext("key column '" + part.path + "'");
}

Status Wrong(const KeyPart& part, PyObject* value, const std::string& but = "") {
  return InColumn(part, WrongValue(part.type.ToString() + but, value));
}

// A tuple or list, whose items stay where they are.
bool IsSequence(PyObject* value) { return PyTuple_Check(value) || PyList_Check(value); }

Result<py::object> Own(PyObject* made) {
  if (made == nullptr) return TakePythonError("reading a key");
  return py::reinterpret_steal<py::object>(made);
}

}  // namespace

Result<PythonKey> PythonKey::Make(std::shared_ptr<const KeySchema> schema) {
  PythonKey key(std::move(schema));
  for (const KeyPart& part : key.schema_->parts()) {
    FLINT_ASSIGN_OR_RETURN(Node node, MakeNode(part));
    key.nodes_.push_back(std::move(node));
  }
  return key;
}

Result<PythonKey::Node> PythonKey::MakeNode(const KeyPart& part) {
  Node node{&part, {}, {}, {}};
  if (!IsBytes(part) && !IsNested(part)) {
    Result<PythonScalar> scalar = PythonScalar::Make(part.type, Counts::kTaken);
    if (!scalar.ok()) return InColumn(part, scalar.status());
    node.scalar = *std::move(scalar);
  }
  for (const KeyPart& child : part.children) {
    FLINT_ASSIGN_OR_RETURN(Node made, MakeNode(child));
    node.children.push_back(std::move(made));
  }
  for (const Field& field : part.type.children) {
    node.names.push_back(
        py::reinterpret_steal<py::object>(PyUnicode_InternFromString(field.name.c_str())));
  }
  return node;
}

// ---- from Python

Status PythonKey::WriteValue(const Node& node, PyObject* value, KeyWriter* writer) {
  if (value == Py_None) return writer->AppendNull(*node.part);
  if (node.scalar.has_value()) return WriteSlot(node, value, writer);
  if (IsBytes(*node.part)) return WriteBytes(node, value, writer);
  if (node.part->code == KeyCode::kStruct) return WriteStruct(node, value, writer);
  return WriteList(node, value, writer);
}

Status PythonKey::WriteSlot(const Node& node, PyObject* value, KeyWriter* writer) {
  SlotRoom slot(*node.part);
  Status status = node.scalar->ToSlot(value, slot.get());
  if (!status.ok()) return InColumn(*node.part, status);
  writer->AppendSlot(*node.part, slot.get());
  return status;
}

Status PythonKey::WriteBytes(const Node& node, PyObject* value, KeyWriter* writer) {
  const KeyPart& part = *node.part;
  if (part.type.IsString()) {
    if (!PyUnicode_Check(value)) return Wrong(part, value);
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) return Wrong(part, value, " that can be written as UTF-8");
    writer->AppendBytes(part, {text, static_cast<size_t>(size)});
    return Status();
  }
  if (PyBytes_Check(value)) {
    writer->AppendBytes(part,
                        {PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value))});
    return Status();
  }
  Py_buffer view;
  if (PyObject_CheckBuffer(value) == 0 || PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) {
    return Wrong(part, value);
  }
  writer->AppendBytes(part, {static_cast<const char*>(view.buf), static_cast<size_t>(view.len)});
  PyBuffer_Release(&view);
  return Status();
}

Status PythonKey::WriteStruct(const Node& node, PyObject* value, KeyWriter* writer) {
  const KeyPart& part = *node.part;
  bool is_dict = PyDict_Check(value);
  if (!is_dict && !IsSequence(value)) return Wrong(part, value);
  Py_ssize_t size = is_dict ? PyDict_GET_SIZE(value) : PySequence_Fast_GET_SIZE(value);
  if (size != static_cast<Py_ssize_t>(node.children.size())) {
    return Wrong(part, value, " with all its fields and no others");
  }
  writer->Begin(part);
  for (size_t k = 0; k < node.children.size(); ++k) {
    PyObject* field = is_dict ? PyDict_GetItemWithError(value, node.names[k].ptr())
                              : PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(k));
    if (field == nullptr) return Wrong(part, value, " with all its fields and no others");
    FLINT_RETURN_IF_ERROR(WriteValue(node.children[k], field, writer));
  }
  writer->End(part);
  return Status();
}

Status PythonKey::WriteList(const Node& node, PyObject* value, KeyWriter* writer) {
  const KeyPart& part = *node.part;
  if (!IsSequence(value)) return Wrong(part, value);
  Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
  if (part.code == KeyCode::kFixedList && size != part.type.size) return Wrong(part, value);
  writer->Begin(part);
  for (Py_ssize_t i = 0; i < size; ++i) {
    // Converting an element may run Python code, which may shorten the list.
    if (PySequence_Fast_GET_SIZE(value) != size) return Wrong(part, value, " that stays as it is");
    auto element = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(value, i));
    FLINT_RETURN_IF_ERROR(WriteValue(node.children[0], element.ptr(), writer));
  }
  writer->End(part);
  return Status();
}

Status PythonKey::WrongCount(size_t first, size_t given) const {
  std::string names;
  for (size_t k = first; k < nodes_.size(); ++k) {
    names += (names.empty() ? "" : ", ") + nodes_[k].part->path;
  }
  return Status::Invalid("got " + std::to_string(given) + " values for " +
                         std::to_string(nodes_.size() - first) + " key columns (" + names + ")");
}

Status PythonKey::WriteSome(size_t first, PyObject* values, KeyWriter* writer,
                            size_t* columns) const {
  size_t left = nodes_.size() - first;
  *columns = PyTuple_Check(values) ? static_cast<size_t>(PyTuple_GET_SIZE(values)) : 1;
  if (*columns > left) return WrongCount(first, *columns);
  if (!PyTuple_Check(values)) return WriteValue(nodes_[first], values, writer);
  for (size_t k = 0; k < *columns; ++k) {
    PyObject* value = PyTuple_GET_ITEM(values, static_cast<Py_ssize_t>(k));
    FLINT_RETURN_IF_ERROR(WriteValue(nodes_[first + k], value, writer));
  }
  return Status();
}

Status PythonKey::Write(PyObject* key, KeyWriter* writer) const {
  size_t columns = 0;
  FLINT_RETURN_IF_ERROR(WriteSome(0, key, writer, &columns));
  return columns == nodes_.size() ? Status() : WrongCount(0, columns);
}

// ---- to Python

Result<py::object> PythonKey::ReadValue(const Node& node, KeyReader* reader) {
  bool present = false;
  FLINT_RETURN_IF_ERROR(reader->TakeMarker(*node.part, &present));
  if (!present) return py::none();
  return ReadPresent(node, reader);
}

Result<py::object> PythonKey::ReadPresent(const Node& node, KeyReader* reader) {
  const KeyPart& part = *node.part;
  if (node.scalar.has_value()) {
    SlotRoom slot(part);
    FLINT_RETURN_IF_ERROR(reader->TakeSlot(part, slot.get()));
    FLINT_ASSIGN_OR_RETURN(PyObject * made, node.scalar->FromSlot(slot.get()));
    return Own(made);
  }
  if (part.code == KeyCode::kStruct) return ReadStruct(node, reader);
  if (!IsBytes(part)) return ReadList(node, reader);
  std::string_view bytes;
  FLINT_RETURN_IF_ERROR(reader->TakeBytes(part, &bytes));
  auto size = static_cast<Py_ssize_t>(bytes.size());
  return Own(part.type.IsString() ? PyUnicode_DecodeUTF8(bytes.data(), size, nullptr)
                                  : PyBytes_FromStringAndSize(bytes.data(), size));
}

Result<py::object> PythonKey::ReadStruct(const Node& node, KeyReader* reader) {
  FLINT_ASSIGN_OR_RETURN(py::object fields, Own(PyDict_New()));
  for (size_t k = 0; k < node.children.size(); ++k) {
    FLINT_ASSIGN_OR_RETURN(py::object value, ReadValue(node.children[k], reader));
    if (PyDict_SetItem(fields.ptr(), node.names[k].ptr(), value.ptr()) != 0) return Own(nullptr);
  }
  return fields;
}

Result<py::object> PythonKey::ReadList(const Node& node, KeyReader* reader) {
  FLINT_ASSIGN_OR_RETURN(py::object elements, Own(PyList_New(0)));
  for (int32_t i = 0;; ++i) {
    bool more = i < node.part->type.size;
    if (node.part->code == KeyCode::kList) {
      FLINT_RETURN_IF_ERROR(reader->TakeElement(*node.part, &more));
    }
    if (!more) return elements;
    FLINT_ASSIGN_OR_RETURN(py::object value, ReadValue(node.children[0], reader));
    if (PyList_Append(elements.ptr(), value.ptr()) != 0) return Own(nullptr);
  }
}

Result<PyObject*> PythonKey::Read(std::string_view key) const {
  KeyReader reader(key);
  py::object read;
  if (nodes_.size() == 1) {
    FLINT_ASSIGN_OR_RETURN(read, ReadValue(nodes_[0], &reader));
  } else {
    FLINT_ASSIGN_OR_RETURN(read, Own(PyTuple_New(static_cast<Py_ssize_t>(nodes_.size()))));
    for (size_t k = 0; k < nodes_.size(); ++k) {
      FLINT_ASSIGN_OR_RETURN(py::object value, ReadValue(nodes_[k], &reader));
      PyTuple_SET_ITEM(read.ptr(), static_cast<Py_ssize_t>(k), value.release().ptr());
    }
  }
  FLINT_RETURN_IF_ERROR(reader.CheckNothingLeft(schema_->parts().back()));
  return read.release().ptr();
}

}  // namespace flint
