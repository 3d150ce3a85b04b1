#pragma once

#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace flint {

// Looks on while RocksDB reads its logs back, from its making to its end, in the thread that opens
// a database and makes it. To RocksDB a log that ends within a record is one that its process died
// in, whichever log it is. Of the last one that is so. Where a later one goes on behind it, with
// other writes between, those are lost in the middle of the store's history: that is damage, and
// the store does not open.
class LogWatch {
 public:
  explicit LogWatch(std::string directory);
  ~LogWatch();
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  // What a database's options need for that. Lives for ever, for databases keep their options.
  static rocksdb::WalFilter* Filter();

  // Corruption, naming the log, where a hole was found.
  const Status& found() const { return found_; }
  // The next write that was read back; false where a hole is before it.
  bool Saw(uint64_t log, uint64_t sequence, uint32_t count);

 private:
  Status FindHole(uint64_t next_log, uint64_t sequence) const;

  const std::string directory_;
  uint64_t log_ = 0;            // that is being read
  uint64_t next_sequence_ = 0;  // of what should follow
  Status found_;
};

// Whether the last record of a log of RocksDB is all there; a log without any has none.
Result<bool> EndsWithARecord(const std::string& log);

// Corruption, naming the file, where a log or the manifest of a database holds a record of a kind
// that only reused files have. We reuse none; RocksDB looks at such a one again and again, for
// ever.
Status RefuseReusedRecords(const std::string& directory);

}  // namespace flint
