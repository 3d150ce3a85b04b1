#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flint {

// What is known of a row in the cache.
struct RowFlags {
  bool present = true;  // false: it is known that there is none
  bool dirty = false;
  bool in_store = true;  // RocksDB may hold something under the row key
};

// Some rows of a scope in the order of their suffixes: slots that are searched and moved, and one
// run of bytes to which suffixes and values are appended. What the suffixes have in common is left
// out of the search; the eight bytes behind it stand in the slots, so that most comparisons look
// at nothing else. Row numbers go from 0 to size(); views live until the next change, and nothing
// that is handed over may lie in the page itself.
class RowPage {
 public:
  size_t size() const { return slots_.size(); }
  std::string_view suffix(size_t row) const {
    return {bytes_.data() + slots_[row].at, slots_[row].suffix_size};
  }
  std::string_view stored(size_t row) const {
    const Slot& slot = slots_[row];
    return {bytes_.data() + slot.at + slot.suffix_size, slot.stored_size};
  }
  RowFlags flags(size_t row) const { return slots_[row].flags; }

  // The first row whose suffix is not below `suffix`.
  size_t LowerBound(std::string_view suffix) const;
  // Requires row == LowerBound(suffix), and that the row there, if any, is another one.
  void Insert(size_t row, std::string_view suffix, std::string_view stored, RowFlags flags);
  void SetStored(size_t row, std::string_view stored);
  void SetFlags(size_t row, RowFlags flags) { slots_[row].flags = flags; }
  void Erase(size_t begin, size_t end);
  // Drops all rows that are known to be none.
  void EraseAbsent();
  // Moves the rows from `row` on to a page of their own. Requires 0 < row < size().
  RowPage SplitAt(size_t row);

  // Of suffixes and values, and of all that it takes up.
  size_t used_bytes() const { return bytes_.size() - dead_; }
  size_t memory() const {
    return sizeof *this + slots_.capacity() * sizeof(Slot) + bytes_.capacity();
  }

 private:
  struct Slot {
    uint64_t head;
    uint32_t at;
    uint32_t suffix_size;
    uint32_t stored_size;
    RowFlags flags;
  };

  size_t BytesOf(const Slot& slot) const { return size_t{slot.suffix_size} + slot.stored_size; }
  // What all suffixes have in common is `common` bytes at most.
  void LimitCommon(size_t common);
  void Compact();

  std::vector<Slot> slots_;
  std::string bytes_;
  size_t dead_ = 0;    // bytes that no slot points to
  size_t common_ = 0;  // so many bytes at the beginning of all suffixes are the same
};

// The eight bytes of `suffix` from `from` on, as a number that compares as they do; zeros behind
// it.
uint64_t HeadOf(std::string_view suffix, size_t from);
// How many bytes at the beginning of both are the same.
size_t CommonBytes(std::string_view a, std::string_view b);

}  // namespace flint
