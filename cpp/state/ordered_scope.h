#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "state/row_overlay.h"

namespace flint {

// Ranges of suffixes, none touching another.
class SuffixRanges {
 public:
  // nullopt as the end: all that follow.
  using End = std::optional<std::string>;

  void Add(std::string_view from, const End& to);
  // The end of the range that holds `suffix`, or nullptr where none does.
  const End* Holding(std::string_view suffix) const;
  // The beginning of the range that holds `suffix`; requires that one does.
  std::string_view BeginHolding(std::string_view suffix) const;
  bool empty() const { return ranges_.empty(); }
  void clear() { ranges_.clear(); }
  const std::map<std::string, End, std::less<>>& all() const { return ranges_; }

 private:
  std::map<std::string, End, std::less<>>::const_iterator Find(std::string_view suffix) const;

  std::map<std::string, End, std::less<>> ranges_;
};

// All rows of a state under one (key, namespace), by what follows that in their row keys: the
// suffix. The cache knows some or all of them.
struct OrderedScope {
  uint64_t hash = 0;
  std::string row_key;  // what all their row keys begin with
  RowOverlay entries;
  SuffixRanges cleared;  // what RocksDB has there is void; what `entries` has is not
  bool whole = false;    // what RocksDB has is in `entries`, or void
  bool large = false;    // there is too much in RocksDB for `entries` to become whole
  bool dirty = false;
};

}  // namespace flint
