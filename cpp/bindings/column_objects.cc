#include "bindings/column_objects.h"

#include <utility>

#include "row/row_decoder.h"
#include "row/row_schema.h"

namespace flint {
namespace {

bool IsScalar(const DataType& type) { return type.id == TypeId::kBool || type.FixedWidth() > 0; }

}  // namespace

ColumnObjects::ColumnObjects(const ColumnView& view, py::handle column) : view_(view) {
  if (IsScalar(view.type())) {
    scalar_ = Unwrap(PythonScalar::Make(view.type(), Counts::kRefused));
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

RowGatherer::RowGatherer(const Schema& schema)
    : schema_(Unwrap(RowSchema::Make(schema))->columns()), builder_(schema_) {
  for (const Field& field : schema_.fields) columns_.push_back(MakeColumn(field));
}

RowGatherer::Column RowGatherer::MakeColumn(const Field& field) {
  Column column{field, {}, {}, {}};
  bool fits = static_cast<size_t>(field.type.FixedWidth()) <= sizeof(Cell::slot);
  if (IsScalar(field.type) && fits) {
    column.scalar = Unwrap(PythonScalar::Make(field.type, Counts::kRefused));
  } else if (field.type.id != TypeId::kString && field.type.id != TypeId::kBinary) {
    auto row = Unwrap(PythonRow::ForCell(Unwrap(RowSchema::Make(Schema{{field}}))));
    column.packed = Packed{std::move(row), {}, {}};
  }
  return column;
}

Status RowGatherer::Read(PyObject* value, Column* column) {
  if (column->packed) {
    Packed& packed = *column->packed;
    packed.bytes.resize(packed.ends.empty() ? 0 : packed.ends.back());
    return packed.row->Pack(value, &packed.bytes);
  }
  column->cell.null = value == Py_None;
  if (column->cell.null) {
    if (column->field.nullable) return {};
    return WrongValue(column->field.type.ToString() + ", never null", value);
  }
  if (column->scalar) return column->scalar->ToSlot(value, column->cell.slot);
  return ReadBytes(value, column);
}

Status RowGatherer::ReadBytes(PyObject* value, Column* column) {
  const DataType& type = column->field.type;
  Py_ssize_t size = 0;
  const char* data = nullptr;
  if (type.IsString()) {
    if (!PyUnicode_Check(value)) return WrongValue(type.ToString(), value);
    data = PyUnicode_AsUTF8AndSize(value, &size);
    if (data == nullptr) {
      return WrongValue(type.ToString() + " that can be written as UTF-8", value);
    }
  } else if (PyBytes_Check(value) || PyObject_CheckBuffer(value) != 0) {
    if (!PyBytes_Check(value)) {
      column->cell.copied = py::reinterpret_steal<py::object>(PyBytes_FromObject(value));
      value = column->cell.copied.ptr();
      if (value == nullptr) return TakePythonError("reading bytes");
    }
    data = PyBytes_AS_STRING(value);
    size = PyBytes_GET_SIZE(value);
  } else {
    return WrongValue(type.ToString(), value);
  }
  column->cell.bytes = {data, static_cast<size_t>(size)};
  return {};
}

Status RowGatherer::Add(PyObject* tuple) {
  auto size = static_cast<size_t>(PyTuple_GET_SIZE(tuple));
  if (size != columns_.size()) {
    return Status::Invalid(std::to_string(size) + " values, the schema has " +
                           std::to_string(columns_.size()) + " (" + schema_.ToString() + ")");
  }
  for (size_t k = 0; k < columns_.size(); ++k) {
    Column& column = columns_[k];
    Status status = Read(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(k)), &column);
    if (status.ok()) continue;
    return column.packed ? status : status.WithContext("column '" + column.field.name + "'");
  }
  for (size_t k = 0; k < columns_.size(); ++k) Append(k);
  ++size_;
  return {};
}

void RowGatherer::Append(size_t k) {
  Column& column = columns_[k];
  if (column.packed) {
    Packed& packed = *column.packed;
    bytes_ += packed.bytes.size() - (packed.ends.empty() ? 0 : packed.ends.back());
    return packed.ends.push_back(packed.bytes.size());
  }
  const Cell& cell = column.cell;
  ColumnBuilder& out = builder_.column(k);
  if (cell.null) return out.AppendNull();
  if (column.field.type.id == TypeId::kBool) return out.AppendBool(cell.slot[0] != 0);
  if (column.scalar) return out.AppendSlot(cell.slot);
  bytes_ += cell.bytes.size();
  out.AppendBytes(cell.bytes);
}

void RowGatherer::Decode(Packed* packed, ColumnBuilder* out) const {
  std::vector<std::string_view> rows;
  rows.reserve(packed->ends.size());
  size_t begin = 0;
  for (size_t end : packed->ends) {
    rows.push_back(std::string_view(packed->bytes).substr(begin, end - begin));
    begin = end;
  }
  Check(RowDecoder(packed->row->shared_schema()).Decode(rows, {&out, 1}));
  packed->bytes.clear();
  packed->ends.clear();
}

OwnedArray RowGatherer::Finish() {
  for (size_t k = 0; k < columns_.size(); ++k) {
    if (columns_[k].packed) Decode(&*columns_[k].packed, &builder_.column(k));
  }
  OwnedArray gathered = builder_.Finish(size_);
  size_ = 0;
  bytes_ = 0;
  return gathered;
}

}  // namespace flint
