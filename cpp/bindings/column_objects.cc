#include "bindings/column_objects.h"

#include <algorithm>

namespace flint {
namespace {

bool IsScalar(const DataType& type) { return type.id == TypeId::kBool || type.FixedWidth() > 0; }

}  // namespace

ColumnObjects::ColumnObjects(const ColumnView& view, py::handle column) : view_(view) {
  if (IsScalar(view.type())) {
    scalar_ = Unwrap(PythonScalar::Make(view.type()));
  } else if (!view.type().IsBytes()) {
    list_ = column.attr("to_pylist")();
  }
}

PyObject* ColumnObjects::At(int64_t row) const {
  if (list_) return Py_NewRef(PyList_GET_ITEM(list_.ptr(), row));
  if (view_.MayHaveNulls() && view_.IsNull(row)) return Py_NewRef(Py_None);
  if (view_.type().id == TypeId::kBool) return Py_NewRef(view_.Bool(row) ? Py_True : Py_False);
  if (scalar_) return Unwrap(scalar_->FromSlot(view_.Slot(row)));
  std::string_view bytes = view_.Bytes(row);
  auto size = static_cast<Py_ssize_t>(bytes.size());
  PyObject* made = view_.type().IsString() ? PyUnicode_DecodeUTF8(bytes.data(), size, nullptr)
                                           : PyBytes_FromStringAndSize(bytes.data(), size);
  if (made == nullptr) throw py::error_already_set();
  return made;
}

bool RowGatherer::Takes(const Schema& schema) {
  return std::ranges::all_of(schema.fields, [](const Field& field) {
    bool fits = static_cast<size_t>(field.type.FixedWidth()) <= sizeof(Cell::slot);
    return (IsScalar(field.type) && fits) || field.type.id == TypeId::kString ||
           field.type.id == TypeId::kBinary;
  });
}

RowGatherer::RowGatherer(const Schema& schema) : builder_(schema) {
  for (const Field& field : schema.fields) {
    Column& column = columns_.emplace_back();
    column.type = field.type;
    if (IsScalar(field.type)) column.scalar = Unwrap(PythonScalar::Make(field.type));
  }
}

bool RowGatherer::Read(PyObject* value, Column* column) {
  Cell& cell = column->cell;
  cell.null = value == Py_None;
  if (cell.null) return true;
  if (column->scalar) return column->scalar->ToSlot(value, cell.slot).ok();
  if (column->type.IsString()) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &size) : nullptr;
    if (text == nullptr) PyErr_Clear();
    cell.bytes = {text, static_cast<size_t>(size)};
    return text != nullptr;
  }
  if (!PyBytes_Check(value)) return false;
  cell.bytes = {PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value))};
  return true;
}

bool RowGatherer::Add(PyObject* row) {
  if (!PyTuple_Check(row)) return false;
  if (PyTuple_GET_SIZE(row) != static_cast<Py_ssize_t>(columns_.size())) return false;
  for (size_t k = 0; k < columns_.size(); ++k) {
    if (!Read(PyTuple_GET_ITEM(row, static_cast<Py_ssize_t>(k)), &columns_[k])) return false;
  }
  for (size_t k = 0; k < columns_.size(); ++k) Append(k);
  ++size_;
  return true;
}

void RowGatherer::Append(size_t k) {
  const Cell& cell = columns_[k].cell;
  ColumnBuilder& out = builder_.column(k);
  if (cell.null) return out.AppendNull();
  if (columns_[k].type.id == TypeId::kBool) return out.AppendBool(cell.slot[0] != 0);
  if (columns_[k].scalar) return out.AppendSlot(cell.slot);
  bytes_ += cell.bytes.size();
  out.AppendBytes(cell.bytes);
}

OwnedArray RowGatherer::Finish() {
  OwnedArray gathered = builder_.Finish(size_);
  size_ = 0;
  bytes_ = 0;
  return gathered;
}

}  // namespace flint
