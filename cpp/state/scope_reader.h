#pragma once

#include <rocksdb/iterator.h>

#include <optional>
#include <string>
#include <string_view>

#include "state/ordered_scope.h"

namespace flint {

// Which rows of a scope, and from which side.
struct SuffixRange {
  std::string from;               // included
  std::optional<std::string> to;  // not included; nullopt: to the end
  bool reverse = false;

  bool Holds(std::string_view suffix) const { return suffix >= from && (!to || suffix < *to); }
};

// Walks the rows of a scope in order: those of RocksDB, with those of the cache laid over them.
// Borrows all that it is given, which must not change meanwhile; `store` is null where `entries`
// are everything. Requires a pin of the database.
class ScopeReader {
 public:
  ScopeReader(std::string_view row_key, const RowOverlay& entries, const SuffixRanges& cleared,
              rocksdb::Iterator* store, const SuffixRange& range);

  bool Valid() const { return valid_; }
  void Next();
  // These require Valid().
  std::string_view suffix() const { return suffix_; }
  std::string_view stored() const { return stored_; }
  // Whether the row lies in `entries`, and not in RocksDB's iterator.
  bool from_cache() const { return from_cache_; }

 private:
  void SeekStore();
  void SeekBefore(const std::optional<std::string>& end);
  void StepStore();
  void SkipVoid();
  bool StoreValid() const;
  std::string_view StoreSuffix() const;
  RowOverlay::Place CacheRow() const { return range_.reverse ? entries_.Before(cache_) : cache_; }
  void StepCache() { cache_ = range_.reverse ? entries_.Before(cache_) : entries_.Next(cache_); }
  void Settle();
  std::string RowKey(std::string_view suffix) const;

  std::string_view row_key_;
  const RowOverlay& entries_;
  const SuffixRanges& cleared_;
  rocksdb::Iterator* store_;
  const SuffixRange& range_;
  RowOverlay::Place cache_;      // the next row; in reverse, the one after it
  RowOverlay::Place cache_end_;  // where the cache has nothing more of the range
  bool store_done_ = false;
  bool from_cache_ = false;
  bool from_store_ = false;
  bool valid_ = false;
  std::string_view suffix_;
  std::string_view stored_;
};

}  // namespace flint
