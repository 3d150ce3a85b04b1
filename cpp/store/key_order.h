#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace flint {

// Puts the row numbers of `keys` into `order`, keys ascending: of rows with equal keys the last one
// alone, or `all` of them in their order. Memory of its own is kept for the next call. One thread
// at a time.
class KeySorter {
 public:
  void Sort(std::span<const std::string_view> keys, bool all, std::vector<uint32_t>* order);

 private:
  struct Entry {
    uint64_t prefix;  // bytes of the key after what all keys begin with, big-endian
    uint32_t row;
  };
  void FillEntries(std::span<const std::string_view> keys);
  void SortEntries();
  void SortTies(std::span<const std::string_view> keys);

  std::vector<Entry> entries_;
  std::vector<Entry> spare_;
};

}  // namespace flint
