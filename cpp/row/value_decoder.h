#pragma once

#include <string_view>

#include "base/arrow_builder.h"
#include "row/layout.h"

namespace flint {

// Appends the value that `bytes` hold, at any depth, to a builder of its type or of one that keeps
// the same bytes (Widening::kNone). False where they are damaged: what the builder got is then
// undefined, and it is only good for being thrown away.
[[nodiscard]] bool AppendValue(const ValueLayout& layout, std::string_view bytes,
                               ColumnBuilder* out);

}  // namespace flint
