#pragma once

#include <cstdint>
#include <string>

#include "base/arrow_column.h"
#include "base/status.h"
#include "row/layout.h"

namespace flint {

// One value of an Arrow column, at any depth, as the bytes of a stored value.

// `view` and row of it that hold the value itself, where `view` is a dictionary.
struct ValueAt {
  const ColumnView* view;
  int64_t row;
};
ValueAt Resolve(const ColumnView& view, int64_t row);

// Bytes that the value of row `i`, not null, takes up.
uint64_t ValueSize(const ValueLayout& layout, const ColumnView& view, int64_t i);

// Writes just that many bytes to `out` and returns their end.
char* WriteValue(const ValueLayout& layout, const ColumnView& view, int64_t i, char* out);

// Invalid where something inside the value of row `i`, not null, is null and declared not to be:
// the path to it, as "'a.b[]'", is in the message. `path` is that of the value.
Status CheckRequired(const ValueLayout& layout, const ColumnView& view, int64_t i,
                     const std::string& path);

// Whether CheckRequired can fail for any row of this column.
bool MayMissRequired(const ValueLayout& layout, const ColumnView& view);

}  // namespace flint
