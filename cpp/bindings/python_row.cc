#include "bindings/python_row.h"

#include "row/row_writer.h"

namespace flint {

Result<std::unique_ptr<const PythonRow>> PythonRow::ForTable(
    std::shared_ptr<const RowSchema> schema, StructForm form) {
  return Make(std::move(schema), form, false);
}

Result<std::unique_ptr<const PythonRow>> PythonRow::ForCell(std::shared_ptr<const RowSchema> schema,
                                                            StructForm form) {
  if (schema->columns().size() != 1) {
    return Status::Internal("a bare value needs a schema of one column, not of " +
                            std::to_string(schema->columns().size()));
  }
  return Make(std::move(schema), form, true);
}

Result<std::unique_ptr<const PythonRow>> PythonRow::Make(std::shared_ptr<const RowSchema> schema,
                                                         StructForm form, bool bare) {
  std::unique_ptr<PythonRow> row(new PythonRow(std::move(schema), bare));
  row->layout_.type = DataType(TypeId::kStruct);
  row->layout_.type.children = row->schema_->columns().fields;
  row->layout_.tuple = row->schema_->current().layout;
  Counts counts = bare ? Counts::kRefused : Counts::kTaken;
  FLINT_ASSIGN_OR_RETURN(row->value_, PythonValue::Make(row->layout_, "", form, counts));
  return std::unique_ptr<const PythonRow>(std::move(row));
}

Status PythonRow::Pack(PyObject* value, std::string* out) const {
  size_t before = out->size();
  TupleWriter tuple = BeginRow(*schema_, out);
  Status status = bare_ ? value_->WriteMember(0, value, &tuple, out)
                        : value_->WriteTuple(value, before + 1, out);
  if (status.ok()) status = CheckRowSize(out->size() - before);
  if (!status.ok()) out->resize(before);
  return status;
}

Result<PyObject*> PythonRow::Unpack(std::string_view row) const {
  RowReader reader(*schema_);
  FLINT_RETURN_IF_ERROR(reader.Open(row));
  if (bare_) return ReadColumn(&reader, 0);
  auto made = py::reinterpret_steal<py::object>(value_->NewTuple());
  if (!made) return TakePythonError("reading a row");
  for (size_t k = 0; k < value_->children_.size(); ++k) {
    FLINT_ASSIGN_OR_RETURN(PyObject * member, ReadColumn(&reader, k));
    if (!value_->SetMember(made.ptr(), k, member)) return TakePythonError("reading a row");
  }
  return made.release().ptr();
}

Result<PyObject*> PythonRow::ReadColumn(RowReader* reader, size_t k) const {
  bool null = false;
  std::string_view value;
  FLINT_RETURN_IF_ERROR(reader->Read(k, &null, &value));
  if (null) return Py_NewRef(Py_None);
  return value_->children_[k].Read(value);
}

Result<std::string> PythonRow::PackValue(size_t k, PyObject* value) const {
  const PythonValue& column = value_->children_[k];
  std::string out(column.layout_->fixed ? column.layout_->width : 0, '\0');
  FLINT_RETURN_IF_ERROR(column.Write(value, 0, &out));
  FLINT_RETURN_IF_ERROR(CheckRowSize(out.size()));
  return out;
}

}  // namespace flint
