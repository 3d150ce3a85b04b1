#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "state/ordered_scope.h"
#include "state/scope_reader.h"
#include "state/time_to_live.h"
#include "store/database.h"

namespace flint {

struct OrderedRow {
  std::string suffix;
  std::string stored;
};

// Rows as they were when the scan began, whatever is written while it goes on; also as to what had
// expired then. Closing the backend ends it with Closed. One thread at a time.
class OrderedScan {
 public:
  // The rows whose keys begin with `row_key`, less that beginning. `entries` and `cleared` are what
  // the cache lays over RocksDB; without a cursor they are everything.
  OrderedScan(std::shared_ptr<Database> database, const ExpiryRule& expiry, std::string row_key,
              SuffixRange range, OrderedEntries entries, SuffixRanges cleared,
              std::unique_ptr<Cursor> cursor);

  // False at the end.
  Result<bool> Next(OrderedRow* row);

 private:
  std::shared_ptr<Database> database_;
  int64_t horizon_;  // what is stamped with this time or an earlier one has expired
  std::string row_key_;
  SuffixRange range_;
  OrderedEntries entries_;
  SuffixRanges cleared_;
  std::unique_ptr<Cursor> cursor_;
  std::unique_ptr<ScopeReader> reader_;
};

}  // namespace flint
