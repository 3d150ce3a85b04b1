#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/helpers.h"
#include "base/status.h"
#include "store/database_options.h"
#include "store/memory.h"

namespace flint {

class Cursor;
class Database;
class DirectoryClaim;
class Snapshot;

using Family = rocksdb::ColumnFamilyHandle;

// Keeps a database open: Close() waits while one lives. Held for one operation, never for longer.
class DatabasePin {
 public:
  explicit DatabasePin(Database* database) : database_(database) {}
  DatabasePin(DatabasePin&& other) noexcept : database_(other.database_) {
    other.database_ = nullptr;
  }
  DatabasePin& operator=(DatabasePin&&) = delete;
  inline ~DatabasePin();

 private:
  Database* database_;
};

struct CursorOptions {
  std::string lower;  // First key that may be seen; empty: the family's first.
  std::string upper;  // First key that may not; empty: no end.
  std::shared_ptr<const Snapshot> snapshot;  // null: the state when the cursor is made.
  bool fill_cache = true;  // false for long scans, which would wash the cache out.
};

// One RocksDB directory, opened by one process: named column families of ordered bytes.
//
// Thread-safe, but for opening and Close(). Every operation fails with Closed after Close(), and
// in a forked child of the process that opened it, in which nothing is touched, not even by the
// destructor. Cursors and snapshots share ownership of the object, and are emptied by Close(): a
// live one then answers Closed too.
class Database : public std::enable_shared_from_this<Database> {
 public:
  // Invalid where the directory holds something that is not a database, or families that `options`
  // doesn't name; Busy where another process (named) or this one has it open; NotFound where it is
  // absent and may not be created; Corruption where it is damaged.
  static Result<std::shared_ptr<Database>> Open(const std::string& directory,
                                                const DatabaseOptions& options);
  // Names of the families in `directory`; empty where there is no database yet.
  static Result<std::vector<std::string>> ListFamilies(const std::string& directory);

  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Waits for operations under way, empties cursors and snapshots, flushes what has no log, closes.
  // The error of that flush, if any; closed in any case. Again: Ok, once it is closed.
  Status Close();
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  const std::string& directory() const { return directory_; }
  bool read_only() const { return options_.read_only; }
  ReadMode read_mode() const { return read_mode_; }  // after the fall back
  Durability durability() const { return options_.durability; }
  const MemoryBudget& memory() const { return *memory_; }
  // Whether an operation or RocksDB's own work has met damaged bytes, or a file that can't be read.
  bool damaged() const { return damaged_->load(std::memory_order_relaxed); }

  // For whoever works on raw() or on a cursor: take one, then work, then let go.
  inline Result<DatabasePin> Enter();
  // What RocksDB answered them, as ours; `what` was asked of it.
  Status From(const rocksdb::Status& status, std::string_view what) const;
  // The three below require a pin.
  rocksdb::DB* raw() const { return db_.get(); }
  Helpers& helpers() const { return *helpers_; }
  // RocksDB's options of a family, as this database makes them (to write files to ingest).
  rocksdb::Options OptionsOf(Family* family) const;

  // Families. A handle is valid until the database is closed: take a pin before it is given to
  // anything but this class (a write batch, say). What is in a dropped one can be read
  // no longer than that, and not written.
  std::vector<std::string> FamilyNames() const;
  Result<Family*> FindFamily(std::string_view name) const;  // NotFound
  Result<Family*> CreateFamily(const FamilyOptions& options);
  Status DropFamily(Family* family);

  // Reads. Get says false for an absent key. Values may lie in the block cache: whoever holds one
  // takes a pin before, and lets go of the value first.
  Result<bool> Get(Family* family, std::string_view key, rocksdb::PinnableSlice* value,
                   const Snapshot* snapshot = nullptr);
  // The same, as far as memory goes: nullopt where files would have to be read.
  Result<std::optional<bool>> GetInMemory(Family* family, std::string_view key,
                                          rocksdb::PinnableSlice* value,
                                          const Snapshot* snapshot = nullptr);
  // One read of many keys, in ascending order if `sorted`. statuses[i] is Ok or NotFound; any other
  // outcome of one of them is this call's.
  Status MultiGet(Family* family, size_t count, const rocksdb::Slice* keys,
                  rocksdb::PinnableSlice* values, rocksdb::Status* statuses, bool sorted,
                  const Snapshot* snapshot = nullptr);
  Result<std::unique_ptr<Cursor>> NewCursor(Family* family, CursorOptions options);
  Result<std::shared_ptr<const Snapshot>> NewSnapshot();

  // Applies the batch as one, as durably as the database promises. `sorted` says that its keys
  // ascend, which makes the memtable's work cheaper; it is never wrong.
  Status Write(rocksdb::WriteBatch* batch, bool sorted = false);
  Status Put(Family* family, std::string_view key, std::string_view value);
  Status Delete(Family* family, std::string_view key);
  // [lower, upper)
  Status DeleteRange(Family* family, std::string_view lower, std::string_view upper);

  // Takes sorted files (SstFileWriter with OptionsOf) in as one, above all that is in the family.
  // They are linked, or moved, from the same file system.
  Status Ingest(Family* family, const std::vector<std::string>& files, bool move);
  Status Flush(const std::vector<Family*>& families = {});  // empty: all
  // Has everything flushed by a thread of RocksDB's, and does not wait for it.
  Status BeginFlush();
  Status Compact(Family* family);
  uint64_t LastSequence() const;  // of the newest write; 0 if closed
  // About how many bytes the keys in [lower, upper) and their values take, as they are stored.
  uint64_t ApproximateBytes(Family* family, std::string_view lower, std::string_view upper) const;
  // A RocksDB property that is a number ("rocksdb.estimate-num-keys"); 0 where unknown.
  uint64_t Property(Family* family, const std::string& name) const;

 private:
  friend class Cursor;
  friend class DatabasePin;
  friend class Snapshot;

  Database(const std::string& directory, const DatabaseOptions& options);
  Status OpenRocksDb();
  Status OpenFailed(const rocksdb::Status& status) const;
  rocksdb::DBOptions MakeDbOptions() const;
  rocksdb::ColumnFamilyOptions MakeFamilyOptions(const FamilyOptions& family) const;
  Result<std::vector<rocksdb::ColumnFamilyDescriptor>> DescribeFamilies() const;
  rocksdb::WriteOptions MakeWriteOptions(bool sorted) const;
  Status FromRead(const rocksdb::Status& status) const;
  Status Refuse() const;  // why Enter fails
  Result<DatabasePin> EnterToWrite();
  bool Forked() const;
  void Leave() {
    if (active_.fetch_sub(1) == 1 && closed_.load()) NotifyIdle();
  }
  void NotifyIdle();
  Status CloseRocksDb();
  std::vector<Family*> AllFamilies() const;

  const std::string directory_;
  const DatabaseOptions options_;
  ReadMode read_mode_;
  const uint64_t generation_;  // ForkGeneration() of the process that opened it
  std::unique_ptr<Helpers> helpers_;
  std::shared_ptr<MemoryBudget> memory_;
  std::unique_ptr<DirectoryClaim> claim_;
  std::unique_ptr<rocksdb::DB> db_;
  const std::shared_ptr<std::atomic<bool>> damaged_ = std::make_shared<std::atomic<bool>>(false);

  mutable std::mutex families_mutex_;
  std::map<std::string, Family*, std::less<>> families_;
  std::vector<Family*> dropped_;

  std::mutex children_mutex_;  // guards the two sets below
  std::unordered_set<Cursor*> cursors_;
  std::unordered_set<Snapshot*> snapshots_;

  std::mutex closing_mutex_;  // held while it is closed
  std::atomic<bool> closed_{false};
  std::atomic<int64_t> active_{0};
  std::mutex idle_mutex_;
  std::condition_variable idle_;
};

// An ordered walk over a family as it was at one moment. One thread at a time.
//   auto pin = database->Enter();  // not ok: closed meanwhile
//   for (auto* it = cursor->iterator(); it->Valid(); it->Next()) ...
// Check iterator()->status() when it is no longer valid, with Database::directory() in the message.
class Cursor {
 public:
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Requires a pin. Positioned nowhere at first.
  rocksdb::Iterator* iterator() const { return iterator_.get(); }
  const std::shared_ptr<Database>& database() const { return database_; }
  Status status() const;  // the iterator's, as ours

 private:
  friend class Database;
  Cursor(std::shared_ptr<Database> database, CursorOptions options);

  std::shared_ptr<Database> database_;
  CursorOptions options_;
  rocksdb::Slice lower_;
  rocksdb::Slice upper_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// The database as it was when this was made. Immutable.
class Snapshot {
 public:
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  const rocksdb::Snapshot* get() const { return snapshot_; }  // requires a pin
  const std::shared_ptr<Database>& database() const { return database_; }

 private:
  friend class Database;
  explicit Snapshot(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  std::shared_ptr<Database> database_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
};

inline DatabasePin::~DatabasePin() {
  if (database_ != nullptr) database_->Leave();
}

inline Result<DatabasePin> Database::Enter() {
  active_.fetch_add(1);
  DatabasePin pin(this);
  if (closed_.load() || Forked()) return Refuse();
  return pin;
}

}  // namespace flint
