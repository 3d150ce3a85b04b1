#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/merge_operator.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flint {

// What an acknowledged write survives (the words of base/file.h).
enum class Durability : uint8_t {
  kNone,     // Nothing until a flush: no write-ahead log.
  kProcess,  // The death of the process: the log is with the kernel.
  kMachine,  // A power cut: the log is synced before a write returns.
};

enum class ReadMode : uint8_t {
  kCache,  // Through the process's block cache.
  kMmap,   // Through mapped files without a block cache: the kernel's page cache serves every
           // process of the machine and outlives them. Wants Compression::kNone. Falls back to
           // kCache where the address space is limited (RLIMIT_AS), in which RocksDB would fail.
};

enum class Compression : uint8_t {
  kNone,
  kLz4,
  kZstdBottom,  // lz4, and zstd for the lowest level, where most of the data is.
};

// One column family: an ordered map of its own within the database.
struct FamilyOptions {
  std::string name;
  bool bloom = true;            // Filters that spare point reads of absent keys; scans need none.
  uint64_t memtable_bytes = 0;  // 0: an eighth of the memory budget, 64 MB at most.
  std::shared_ptr<rocksdb::MergeOperator> merge_operator;
  std::shared_ptr<rocksdb::CompactionFilterFactory> compaction_filter_factory;
};

struct DatabaseOptions {
  // Every family that is in the directory must be named here (Database::ListFamilies); those that
  // are not in it yet are created. Read-only, some of them will do. "default" is always there.
  std::vector<FamilyOptions> families;
  bool read_only = false;
  bool create_if_missing = true;
  // All families are flushed as one: for those who write to several without a log.
  bool atomic_flush = false;
  Durability durability = Durability::kProcess;
  // Without a log, Close() flushes what is in memory, unless the caller replays it from elsewhere.
  bool flush_on_close = true;
  ReadMode read_mode = ReadMode::kCache;
  Compression compression = Compression::kLz4;
  uint64_t memory_bytes = 0;  // The process's budget (MemoryBudget::Share).
  int background_jobs = 0;    // Threads for flushes and compactions. 0: the processors, 2 to 4.
  int threads = 1;            // That one call may keep busy, its own among them (Helpers).
};

}  // namespace flint
