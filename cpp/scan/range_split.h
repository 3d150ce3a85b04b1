#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flint {

// How much is stored in [lower, upper): about, but never less in a wider range.
using RangeSize = std::function<uint64_t(std::string_view lower, std::string_view upper)>;

// A key between the two, such that about `wanted` is stored before it, or behind it where
// `from_end`. It need not be there. Nullopt where less than one and a half times `wanted` is stored
// in all, or where no such key can be told. Asks for a few sizes, 40 at most.
std::optional<std::string> SplitRange(const std::string& lower, const std::string& upper,
                                      uint64_t wanted, bool from_end, const RangeSize& size);

}  // namespace flint
