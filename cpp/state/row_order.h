#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace flint {

// Sorts pointers to entries by their member `row_key`. The first 16 bytes of the keys travel with
// the pointers, so that most comparisons look at nothing else.
template <class Entry>
void SortByRowKey(std::vector<Entry*>* entries) {
  struct Head {
    uint64_t high;
    uint64_t low;
    Entry* entry;
  };
  auto word = [](const std::string& key, size_t from) {
    uint64_t bytes = 0;
    if (key.size() > from)
      std::memcpy(&bytes, key.data() + from, std::min<size_t>(8, key.size() - from));
    return __builtin_bswap64(bytes);
  };
  std::vector<Head> heads;
  heads.reserve(entries->size());
  for (Entry* entry : *entries) {
    heads.push_back({word(entry->row_key, 0), word(entry->row_key, 8), entry});
  }
  std::sort(heads.begin(), heads.end(), [](const Head& a, const Head& b) {
    if (a.high != b.high) return a.high < b.high;
    if (a.low != b.low) return a.low < b.low;
    return a.entry->row_key < b.entry->row_key;
  });
  for (size_t i = 0; i < heads.size(); ++i) (*entries)[i] = heads[i].entry;
}

}  // namespace flint
