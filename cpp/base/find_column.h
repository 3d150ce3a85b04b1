#pragma once

#include <string_view>

#include "base/arrow_type.h"

namespace flint {

// Where a column is that a caller gave by its name; -1 where it is not. Refused where two columns
// have the name, as either could be meant.
Result<int> FindColumn(const Schema& given, std::string_view name);

}  // namespace flint
