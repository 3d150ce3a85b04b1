#pragma once

#include <optional>
#include <string>

namespace flint {

// A range of encoded keys: [lower, upper), without end where there is no upper.
struct KeyRange {
  std::string lower;
  std::optional<std::string> upper;
};

}  // namespace flint
