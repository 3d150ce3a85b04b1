#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"

namespace rocksdb {
class Cache;
class WriteBufferManager;
}  // namespace rocksdb

namespace flint {

// The process's promise about memory: one budget from which every open database takes its block
// cache (data, indexes, filters), its memtables and what else RocksDB can account for. All open
// databases share one; it ends when the last of them is closed. Thread-safe.
class MemoryBudget {
 public:
  static constexpr uint64_t kDefaultBytes = 512ull << 20;
  static constexpr uint64_t kBytesMin = 4ull << 20;

  // The budget of the open databases; where none is open, a new one of `bytes` (0: the default).
  // A forked child has none of its parent's open. Called under NoFork.
  // Invalid where `bytes` differs from what the open databases were promised.
  static Result<std::shared_ptr<MemoryBudget>> Share(uint64_t bytes);

  explicit MemoryBudget(uint64_t bytes);

  uint64_t bytes() const { return bytes_; }
  // What a single memtable may take before it is flushed.
  uint64_t memtable_bytes() const;
  // What is in use now, memtables included.
  uint64_t used_bytes() const;
  const std::shared_ptr<rocksdb::Cache>& cache() const { return cache_; }
  const std::shared_ptr<rocksdb::WriteBufferManager>& write_buffers() const {
    return write_buffers_;
  }

 private:
  uint64_t bytes_;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers_;
};

}  // namespace flint
