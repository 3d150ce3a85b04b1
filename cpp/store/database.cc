#include "store/database.h"

#include <rocksdb/metadata.h>

#include <chrono>
#include <future>
#include <system_error>
#include <utility>

#include "base/fork.h"
#include "base/interrupt.h"
#include "store/directory.h"
#include "store/rocksdb_status.h"

namespace flint {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

rocksdb::ReadOptions ReadAt(const Snapshot* snapshot) {
  rocksdb::ReadOptions options;
  if (snapshot != nullptr) options.snapshot = snapshot->get();
  return options;
}

}  // namespace

Database::~Database() {
  if (Forked()) {
    // The threads and locks that RocksDB counts on were not copied into this process.
    static_cast<void>(db_.release());
    static_cast<void>(claim_.release());
    static_cast<void>(helpers_.release());
    new std::shared_ptr<MemoryBudget>(std::move(memory_));
    return;
  }
  static_cast<void>(Close());
}

bool Database::Forked() const { return ForkGeneration() != generation_; }

Status Database::Refuse() const {
  if (Forked()) {
    return Status::Closed(directory_ +
                          " was opened before this process was forked: open it again here, "
                          "once the parent has closed it");
  }
  return Status::Closed(directory_ + " was closed: open it again");
}

Status Database::From(const rocksdb::Status& status, std::string_view what) const {
  if (status.IsCorruption()) damaged_->store(true, std::memory_order_relaxed);
  return FromRocksDb(status, what, directory_);
}

Status Database::FromRead(const rocksdb::Status& status) const {
  if (status.IsIOError()) damaged_->store(true, std::memory_order_relaxed);
  return From(status, "read");
}

void Database::NotifyIdle() {
  std::lock_guard<std::mutex> lock(idle_mutex_);
  idle_.notify_all();
}

Status Database::Close() {
  if (Forked()) return {};
  std::lock_guard<std::mutex> closing(closing_mutex_);
  if (closed_.exchange(true)) return {};
  {
    std::unique_lock<std::mutex> lock(idle_mutex_);
    idle_.wait(lock, [this] { return active_.load() == 0; });
  }
  return CloseRocksDb();
}

Status Database::CloseRocksDb() {
  helpers_.reset();
  if (db_ == nullptr) return {};
  {
    std::lock_guard<std::mutex> lock(children_mutex_);
    for (Cursor* cursor : cursors_) cursor->iterator_.reset();
    for (Snapshot* snapshot : snapshots_) {
      db_->ReleaseSnapshot(std::exchange(snapshot->snapshot_, nullptr));
    }
    cursors_.clear();
    snapshots_.clear();
  }
  rocksdb::Status outcome;
  bool unlogged = !options_.read_only && options_.durability == Durability::kNone;
  if (unlogged && options_.flush_on_close) {
    outcome = db_->Flush(rocksdb::FlushOptions(), AllFamilies());
  }
  for (auto& [name, family] : families_) dropped_.push_back(family);
  families_.clear();
  for (Family* family : dropped_) db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  dropped_.clear();
  NoFork guard;
  rocksdb::Status closed = db_->Close();
  db_.reset();
  claim_.reset();
  memory_.reset();
  return From(outcome.ok() ? closed : outcome, "close the store");
}

rocksdb::Options Database::OptionsOf(Family* family) const { return db_->GetOptions(family); }

Result<Family*> Database::FindFamily(std::string_view name) const {
  std::lock_guard<std::mutex> lock(families_mutex_);
  auto found = families_.find(name);
  if (found == families_.end()) {
    return Status::NotFound(directory_ + ": there is no family '" + std::string(name) + "'");
  }
  return found->second;
}

std::vector<std::string> Database::FamilyNames() const {
  std::lock_guard<std::mutex> lock(families_mutex_);
  std::vector<std::string> names;
  for (const auto& [name, family] : families_) names.push_back(name);
  return names;
}

Result<Family*> Database::CreateFamily(const FamilyOptions& options) {
  FLINT_ASSIGN_OR_RETURN(auto pin, EnterToWrite());
  Family* family = nullptr;
  rocksdb::Status status =
      db_->CreateColumnFamily(MakeFamilyOptions(options), options.name, &family);
  std::lock_guard<std::mutex> lock(families_mutex_);
  if (!status.ok() && family != nullptr) {  // it is there, but RocksDB could not note its options
    db_->DropColumnFamily(family).PermitUncheckedError();
    dropped_.push_back(family);
  }
  FLINT_RETURN_IF_ERROR(From(status, "create the family '" + options.name + "'"));
  families_[options.name] = family;
  return family;
}

Status Database::DropFamily(Family* family) {
  FLINT_ASSIGN_OR_RETURN(auto pin, EnterToWrite());
  std::string name = family->GetName();
  FLINT_RETURN_IF_ERROR(From(db_->DropColumnFamily(family), "drop the family '" + name + "'"));
  std::lock_guard<std::mutex> lock(families_mutex_);
  families_.erase(name);
  dropped_.push_back(family);
  return {};
}

Result<bool> Database::Get(Family* family, std::string_view key, rocksdb::PinnableSlice* value,
                           const Snapshot* snapshot) {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  rocksdb::Status status = db_->Get(ReadAt(snapshot), family, ToSlice(key), value);
  if (status.ok()) return true;
  if (status.IsNotFound()) return false;
  return FromRead(status);
}

Result<std::optional<bool>> Database::GetInMemory(Family* family, std::string_view key,
                                                  rocksdb::PinnableSlice* value,
                                                  const Snapshot* snapshot) {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  rocksdb::ReadOptions options = ReadAt(snapshot);
  options.read_tier = rocksdb::kBlockCacheTier;
  rocksdb::Status status = db_->Get(options, family, ToSlice(key), value);
  if (status.ok()) return std::optional<bool>(true);
  if (status.IsNotFound()) return std::optional<bool>(false);
  if (status.IsIncomplete()) return std::optional<bool>();
  return FromRead(status);
}

Status Database::MultiGet(Family* family, size_t count, const rocksdb::Slice* keys,
                          rocksdb::PinnableSlice* values, rocksdb::Status* statuses, bool sorted,
                          const Snapshot* snapshot) {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  db_->MultiGet(ReadAt(snapshot), family, count, keys, values, statuses, sorted);
  for (size_t i = 0; i < count; ++i) {
    if (!statuses[i].ok() && !statuses[i].IsNotFound()) return FromRead(statuses[i]);
  }
  return {};
}

Result<std::unique_ptr<Cursor>> Database::NewCursor(Family* family, CursorOptions options) {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  std::unique_ptr<Cursor> cursor(new Cursor(shared_from_this(), std::move(options)));
  const CursorOptions& kept = cursor->options_;
  rocksdb::ReadOptions read = ReadAt(kept.snapshot.get());
  read.fill_cache = kept.fill_cache;
  if (!kept.lower.empty()) read.iterate_lower_bound = &cursor->lower_;
  if (!kept.upper.empty()) read.iterate_upper_bound = &cursor->upper_;
  cursor->iterator_.reset(db_->NewIterator(read, family));
  FLINT_RETURN_IF_ERROR(cursor->status());
  std::lock_guard<std::mutex> lock(children_mutex_);
  cursors_.insert(cursor.get());
  return cursor;
}

Result<std::shared_ptr<const Snapshot>> Database::NewSnapshot() {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  std::shared_ptr<Snapshot> snapshot(new Snapshot(shared_from_this()));
  snapshot->snapshot_ = db_->GetSnapshot();
  std::lock_guard<std::mutex> lock(children_mutex_);
  snapshots_.insert(snapshot.get());
  return std::shared_ptr<const Snapshot>(std::move(snapshot));
}

rocksdb::WriteOptions Database::MakeWriteOptions(bool sorted) const {
  rocksdb::WriteOptions options;
  options.disableWAL = options_.durability == Durability::kNone;
  options.sync = options_.durability == Durability::kMachine;
  options.memtable_insert_hint_per_batch = sorted;
  return options;
}

Result<DatabasePin> Database::EnterToWrite() {
  if (options_.read_only) {
    return Status::Invalid(directory_ + " was opened read-only: nothing can be written to it");
  }
  return Enter();
}

Status Database::Write(rocksdb::WriteBatch* batch, bool sorted) {
  FLINT_ASSIGN_OR_RETURN(auto pin, EnterToWrite());
  return From(db_->Write(MakeWriteOptions(sorted), batch), "write");
}

Status Database::Put(Family* family, std::string_view key, std::string_view value) {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  constexpr size_t kAround = 32;  // a batch's head, a record's and its sizes
  rocksdb::WriteBatch batch(key.size() + value.size() + kAround);
  FLINT_RETURN_IF_ERROR(From(batch.Put(family, ToSlice(key), ToSlice(value)), "write"));
  return Write(&batch);
}

Status Database::Delete(Family* family, std::string_view key) {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  rocksdb::WriteBatch batch;
  FLINT_RETURN_IF_ERROR(From(batch.Delete(family, ToSlice(key)), "delete"));
  return Write(&batch);
}

Status Database::DeleteRange(Family* family, std::string_view lower, std::string_view upper) {
  FLINT_ASSIGN_OR_RETURN(auto pin, Enter());
  rocksdb::WriteBatch batch;
  FLINT_RETURN_IF_ERROR(
      From(batch.DeleteRange(family, ToSlice(lower), ToSlice(upper)), "delete a range"));
  return Write(&batch);
}

Status Database::Ingest(Family* family, const std::vector<std::string>& files, bool move) {
  FLINT_ASSIGN_OR_RETURN(auto pin, EnterToWrite());
  rocksdb::IngestExternalFileOptions options;
  options.move_files = move;
  options.failed_move_fall_back_to_copy = true;
  options.snapshot_consistency = true;
  return From(db_->IngestExternalFile(family, files, options), "ingest files");
}

Status Database::Flush(const std::vector<Family*>& families) {
  FLINT_ASSIGN_OR_RETURN(auto pin, EnterToWrite());
  return From(db_->Flush(rocksdb::FlushOptions(), families.empty() ? AllFamilies() : families),
              "flush");
}

Status Database::BeginFlush() {
  FLINT_ASSIGN_OR_RETURN(auto pin, EnterToWrite());
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;  // else it waits until there is room in the lowest level
  return From(db_->Flush(options, AllFamilies()), "flush");
}

std::vector<Family*> Database::AllFamilies() const {
  std::lock_guard<std::mutex> lock(families_mutex_);
  std::vector<Family*> all;
  for (const auto& [name, family] : families_) all.push_back(family);
  return all;
}

// By a thread of its own, so that this one can be told to end it. Where the system has none to
// give, this one does it, to its end.
Status Database::Compact(Family* family) {
  FLINT_ASSIGN_OR_RETURN(auto pin, EnterToWrite());
  std::atomic<bool> canceled{false};
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = &canceled;
  auto compact = [&] {
    return From(db_->CompactRange(options, family, nullptr, nullptr), "compact");
  };
  std::future<Status> compaction;
  try {
    compaction = std::async(std::launch::async, compact);
  } catch (const std::system_error&) {
    return compact();
  }
  Status interrupted;
  while (interrupted.ok() &&
         compaction.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    interrupted = CheckInterrupt();
  }
  canceled.store(!interrupted.ok());
  Status outcome = compaction.get();
  return interrupted.ok() ? outcome : interrupted;
}

uint64_t Database::LastSequence() const {
  auto pin = const_cast<Database*>(this)->Enter();
  return pin.ok() ? db_->GetLatestSequenceNumber() : 0;
}

uint64_t Database::ApproximateBytes(Family* family, std::string_view lower,
                                    std::string_view upper) const {
  auto pin = const_cast<Database*>(this)->Enter();
  if (!pin.ok()) return 0;
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = true;
  const rocksdb::Range range(ToSlice(lower), ToSlice(upper));
  uint64_t bytes = 0;
  if (!db_->GetApproximateSizes(options, family, &range, 1, &bytes).ok()) return 0;
  return bytes;
}

uint64_t Database::Property(Family* family, const std::string& name) const {
  auto pin = const_cast<Database*>(this)->Enter();
  uint64_t value = 0;
  if (!pin.ok() || !db_->GetIntProperty(family, name, &value)) return 0;
  return value;
}

Cursor::Cursor(std::shared_ptr<Database> database, CursorOptions options)
    : database_(std::move(database)),
      options_(std::move(options)),
      lower_(options_.lower),
      upper_(options_.upper) {}

Cursor::~Cursor() {
  if (database_->Forked()) {
    static_cast<void>(iterator_.release());
    return;
  }
  std::lock_guard<std::mutex> lock(database_->children_mutex_);
  database_->cursors_.erase(this);
  iterator_.reset();
}

Status Cursor::status() const { return database_->FromRead(iterator_->status()); }

Snapshot::~Snapshot() {
  if (database_->Forked()) return;
  std::lock_guard<std::mutex> lock(database_->children_mutex_);
  database_->snapshots_.erase(this);
  if (snapshot_ != nullptr) database_->db_->ReleaseSnapshot(snapshot_);
}

}  // namespace flint
