#include "scan/range_split.h"

#include <algorithm>
#include <cstring>

namespace flint {
namespace {

constexpr int kProbesMax = 40;

// The 8 bytes of `key` behind its first `from`, as a number that orders as they do.
uint64_t WordAt(const std::string& key, size_t from) {
  uint64_t word = 0;
  std::memcpy(&word, key.data() + from, std::min<size_t>(8, key.size() - from));
  return __builtin_bswap64(word);
}

// A key strictly between the two, at about `share` of the way; nullopt where they are too near.
std::optional<std::string> Between(const std::string& low, const std::string& high, double share) {
  const size_t shorter = std::min(low.size(), high.size());
  auto at = std::mismatch(low.begin(), low.begin() + static_cast<ptrdiff_t>(shorter), high.begin());
  const auto common = static_cast<size_t>(at.first - low.begin());
  const uint64_t from = WordAt(low, common), to = WordAt(high, common);
  if (to < from + 2 || from + 2 < from) return std::nullopt;
  const auto step = static_cast<uint64_t>(static_cast<double>(to - from) * share);
  const uint64_t word = __builtin_bswap64(from + std::clamp<uint64_t>(step, 1, to - from - 1));
  std::string key = low.substr(0, common);
  return key.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

std::optional<std::string> SplitRange(const std::string& lower, const std::string& upper,
                                      uint64_t wanted, bool from_end, const RangeSize& size) {
  const uint64_t total = size(lower, upper);
  if (wanted == 0 || total < wanted + wanted / 2) return std::nullopt;
  const uint64_t target = from_end ? total - wanted : wanted;
  std::string low = lower, high = upper;
  uint64_t below = 0, above = total;  // what is stored before low, before high
  for (int probe = 0; probe < kProbesMax; ++probe) {
    // Where keys are spread evenly the first guess is right; halving is never far wrong.
    const bool guess = probe % 2 == 0 && above > below;
    auto key = Between(
        low, high,
        guess ? static_cast<double>(target - below) / static_cast<double>(above - below) : 0.5);
    if (!key) break;
    const uint64_t before = size(lower, *key);
    if (before + wanted / 4 >= target && before <= target + wanted / 4) return key;
    if (before < target) {
      low = *std::move(key);
      below = std::max(below, before);
    } else {
      high = *std::move(key);
      above = std::max(below, std::min(above, before));
    }
  }
  // Much is stored at one place: the split is on that side of it which makes a part.
  if (from_end) std::swap(low, high);
  if (high != (from_end ? lower : upper)) return high;
  if (low != (from_end ? upper : lower)) return low;
  return std::nullopt;
}

}  // namespace flint
