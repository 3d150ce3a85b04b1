#pragma once

#include <rocksdb/write_batch.h>

#include <memory>

#include "base/status.h"
#include "store/table.h"

namespace flint {

// Writes to several tables of one database that take effect as one, or not at all. Gathers in
// memory until Commit; later writes to a key win over earlier ones. One thread at a time.
class AtomicBatch {
 public:
  explicit AtomicBatch(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  Status Write(Table& table, WriteKind kind, const BatchView& rows);
  Status DeleteRange(Table& table, const KeyRange& range);
  // Once: Closed after it.
  Status Commit();

 private:
  Status Check(const Table& table) const;

  std::shared_ptr<Database> database_;
  rocksdb::WriteBatch batch_;
  bool committed_ = false;
};

}  // namespace flint
