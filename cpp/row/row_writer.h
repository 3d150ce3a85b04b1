#pragma once

#include <string>

#include "row/row_schema.h"
#include "row/value_writer.h"

namespace flint {

// Begins a row of the newest version on the end of `out`: its columns are then written as a tuple's
// members (value_writer.h). CheckRowSize ends it.
inline TupleWriter BeginRow(const RowSchema& schema, std::string* out) {
  const TupleLayout& layout = schema.current().layout;
  out->push_back(static_cast<char>(schema.current_version()));
  return {layout, out, TupleWriter::Append(layout, out)};
}

// Invalid where a row of `size` bytes could not be read back.
Status CheckRowSize(size_t size);

}  // namespace flint
