#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "state/ordered_scope.h"
#include "state/scope_reader.h"
#include "state/time_to_live.h"
#include "store/database.h"

namespace flint {

// Cursors over RocksDB as it has been since some moment, for the next who wants one: making one
// costs as much as reading some ten rows.
using SpareCursors = std::vector<std::unique_ptr<Cursor>>;

// Rows as they were when the scan began, whatever is written while it goes on. Closing the backend
// ends it with Closed. One thread at a time, which is that of the backend where pages or spare
// cursors are shared with it.
class OrderedScan {
 public:
  // The rows whose keys begin with `row_key`, less that beginning; what is stamped with `hidden` or
  // an earlier time is passed over. `entries` and `cleared` are what the cache lays over RocksDB;
  // without a cursor they are everything.
  OrderedScan(std::shared_ptr<Database> database, int64_t hidden, std::string row_key,
              SuffixRange range, RowOverlay entries, SuffixRanges cleared,
              std::unique_ptr<Cursor> cursor);
  ~OrderedScan() { GiveBack(); }
  OrderedScan(const OrderedScan&) = delete;
  OrderedScan& operator=(const OrderedScan&) = delete;

  // Where its cursor goes when it is done.
  void GiveBackTo(std::shared_ptr<SpareCursors> spare) { spare_ = std::move(spare); }

  // False at the end. What it gives lives until the next call.
  Result<bool> Next(std::string_view* suffix, std::string_view* stored);

 private:
  void GiveBack();

  std::shared_ptr<Database> database_;
  int64_t hidden_;
  std::string row_key_;
  SuffixRange range_;
  RowOverlay entries_;
  SuffixRanges cleared_;
  std::unique_ptr<Cursor> cursor_;
  std::shared_ptr<SpareCursors> spare_;
  std::unique_ptr<ScopeReader> reader_;
  bool done_ = false;
  // A row of RocksDB, which could go with the database.
  std::string suffix_;
  std::string stored_;
};

}  // namespace flint
