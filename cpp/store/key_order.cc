#include "store/key_order.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace flint {
namespace {

constexpr size_t kRadixRowsMin = 256;  // below, comparing is faster than counting

bool StrictlyAscending(std::span<const std::string_view> keys) {
  for (size_t i = 1; i < keys.size(); ++i) {
    if (keys[i - 1] >= keys[i]) return false;
  }
  return true;
}

size_t CommonPrefix(std::span<const std::string_view> keys) {
  size_t common = keys[0].size();
  for (std::string_view key : keys) {
    common = std::min(common, key.size());
    if (std::memcmp(key.data(), keys[0].data(), common) == 0) continue;
    auto at = std::mismatch(key.begin(), key.begin() + common, keys[0].begin());
    common = static_cast<size_t>(at.first - key.begin());
  }
  return common;
}

// Bytes [from, from + 8) as a number that orders as they do; zeros where the key has ended.
uint64_t PrefixAt(std::string_view key, size_t from) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, key.data() + from, std::min<size_t>(8, key.size() - from));
  return __builtin_bswap64(prefix);
}

}  // namespace

void KeySorter::FillEntries(std::span<const std::string_view> keys) {
  const size_t common = CommonPrefix(keys);
  entries_.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    entries_[i] = {PrefixAt(keys[i], common), static_cast<uint32_t>(i)};
  }
}

// By prefix; rows of equal prefixes stay in their order.
void KeySorter::SortEntries() {
  if (entries_.size() < kRadixRowsMin) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : a.row < b.row;
    });
    return;
  }
  std::array<std::array<uint32_t, 256>, 8> counts = {};
  for (const Entry& entry : entries_) {
    for (size_t digit = 0; digit < 8; ++digit) ++counts[digit][entry.prefix >> (8 * digit) & 0xFF];
  }
  spare_.resize(entries_.size());
  for (size_t digit = 0; digit < 8; ++digit) {
    auto& count = counts[digit];
    if (count[entries_[0].prefix >> (8 * digit) & 0xFF] == entries_.size()) continue;
    std::exclusive_scan(count.begin(), count.end(), count.begin(), 0u);
    for (const Entry& entry : entries_) {
      spare_[count[entry.prefix >> (8 * digit) & 0xFF]++] = entry;
    }
    entries_.swap(spare_);
  }
}

void KeySorter::SortTies(std::span<const std::string_view> keys) {
  for (size_t begin = 0; begin < entries_.size();) {
    size_t end = begin + 1;
    while (end < entries_.size() && entries_[end].prefix == entries_[begin].prefix) ++end;
    if (end - begin > 1) {
      std::sort(entries_.begin() + static_cast<ptrdiff_t>(begin),
                entries_.begin() + static_cast<ptrdiff_t>(end),
                [&](const Entry& a, const Entry& b) {
                  int compared = keys[a.row].compare(keys[b.row]);
                  return compared != 0 ? compared < 0 : a.row < b.row;
                });
    }
    begin = end;
  }
}

void KeySorter::Sort(std::span<const std::string_view> keys, bool all,
                     std::vector<uint32_t>* order) {
  order->resize(keys.size());
  if (StrictlyAscending(keys)) {
    std::iota(order->begin(), order->end(), 0u);
    return;
  }
  FillEntries(keys);
  SortEntries();
  SortTies(keys);
  size_t kept = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    bool again = !all && i + 1 < entries_.size() && entries_[i].prefix == entries_[i + 1].prefix &&
                 keys[entries_[i].row] == keys[entries_[i + 1].row];
    if (!again) (*order)[kept++] = entries_[i].row;
  }
  order->resize(kept);
}

}  // namespace flint
