#include "row/row_reader.h"

#include <string>

namespace flint {

Status RowReader::Damaged(std::string_view row) const {
  return Status::Corruption("a stored row is damaged: its " + std::to_string(row.size()) +
                            " bytes are no row of the table's " +
                            std::to_string(schema_->num_versions()) + " schema versions");
}

Status RowReader::DamagedColumn(size_t k) const {
  const Field& field = schema_->columns()[k];
  return DamagedValue(field.type).WithContext("column '" + field.name + "'");
}

Status RowReader::ReadFill(size_t k, bool* null, std::string_view* value) const {
  const RowColumn& column = schema_->current().columns[k];
  *null = !column.fill.has_value();
  if (!*null) *value = *column.fill;
  return Status();
}

std::string_view RowReader::WidenedTo(size_t k, Widening widening, std::string_view value) {
  int width = schema_->columns()[k].type.FixedWidth();
  Widen(widening, value, width, wide_);
  return {wide_, static_cast<size_t>(width)};
}

}  // namespace flint
