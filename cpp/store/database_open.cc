// Opening: which options a database and its families get, and what is refused.

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "base/file.h"
#include "base/fork.h"
#include "store/database.h"
#include "store/directory.h"
#include "store/log_watch.h"
#include "store/process_env.h"
#include "store/rocksdb_status.h"

namespace flint {
namespace {

bool AddressSpaceIsLimited() {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Each open table file keeps a descriptor, and a process may have many databases and other files.
int OpenFilesMax() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 128;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= 65536) return -1;
  return static_cast<int>(std::max<rlim_t>(64, limit.rlim_cur / 4));
}

int BackgroundJobs(int asked) {
  if (asked > 0) return asked;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 4);
}

rocksdb::BlockBasedTableOptions MakeTableOptions(const FamilyOptions& family, ReadMode mode,
                                                 const MemoryBudget& memory) {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 6;
  if (family.bloom) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  if (mode == ReadMode::kMmap) {
    table.no_block_cache = true;
    return table;
  }
  table.block_cache = memory.cache();
  // Fewer blocks to look up and a smaller index, for more bytes where a block must be read. Not
  // for mapped files, where every read checks its whole block.
  table.block_size = 16 << 10;
  table.data_block_index_type =
      rocksdb::BlockBasedTableOptions::DataBlockIndexType::kDataBlockBinaryAndHash;
  // Indexes and filters are in the cache, so that the memory budget covers them.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  rocksdb::CacheEntryRoleOptions charged;
  charged.charged = rocksdb::CacheEntryRoleOptions::Decision::kEnabled;
  for (auto role :
       {rocksdb::CacheEntryRole::kBlockBasedTableReader, rocksdb::CacheEntryRole::kFileMetadata}) {
    table.cache_usage_options.options_overrides[role] = charged;
  }
  return table;
}

// Hears of damage that a flush or a compaction meets, which no caller may ever see.
class DamageListener : public rocksdb::EventListener {
 public:
  explicit DamageListener(std::shared_ptr<std::atomic<bool>> damaged)
      : damaged_(std::move(damaged)) {}
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override {
    if (error->IsCorruption()) damaged_->store(true, std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<std::atomic<bool>> damaged_;
};

}  // namespace

rocksdb::DBOptions Database::MakeDbOptions() const {
  rocksdb::DBOptions db;
  db.env = ProcessEnv();
  db.listeners.push_back(std::make_shared<DamageListener>(damaged_));
  db.create_if_missing = options_.create_if_missing;
  db.create_missing_column_families = true;
  db.atomic_flush = options_.atomic_flush;
  db.max_background_jobs = BackgroundJobs(options_.background_jobs);
  db.max_open_files = OpenFilesMax();
  // RocksDB opens files in threads, and ends the process where one can't be started.
  if (AddressSpaceIsLimited()) db.max_file_opening_threads = 1;
  db.allow_mmap_reads = read_mode_ == ReadMode::kMmap;
  db.write_buffer_manager = memory_->write_buffers();
  // Close() decides what is flushed. A log that is damaged anywhere but at its torn end is an
  // error: dropping what follows would lose acknowledged writes without a word. Which end may be
  // torn, the watch knows (docs/decisions/0024).
  db.avoid_flush_during_shutdown = true;
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.wal_filter = LogWatch::Filter();
  db.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  db.keep_log_file_num = 2;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.skip_stats_update_on_db_open = true;
  return db;
}

rocksdb::ColumnFamilyOptions Database::MakeFamilyOptions(const FamilyOptions& family) const {
  rocksdb::ColumnFamilyOptions cf;
  cf.write_buffer_size =
      family.memtable_bytes != 0 ? family.memtable_bytes : memory_->memtable_bytes();
  cf.max_write_buffer_number = 3;
  cf.merge_operator = family.merge_operator;
  cf.compaction_filter_factory = family.compaction_filter_factory;
  cf.compression = options_.compression == Compression::kNone ? rocksdb::kNoCompression
                                                              : rocksdb::kLZ4Compression;
  if (options_.compression == Compression::kZstdBottom) {
    cf.bottommost_compression = rocksdb::kZSTD;
  }
  cf.table_factory.reset(
      rocksdb::NewBlockBasedTableFactory(MakeTableOptions(family, read_mode_, *memory_)));
  return cf;
}

Result<std::vector<rocksdb::ColumnFamilyDescriptor>> Database::DescribeFamilies() const {
  FLINT_ASSIGN_OR_RETURN(std::vector<std::string> stored, ListFamilies(directory_));
  auto is_stored = [&](const std::string& name) {
    return std::find(stored.begin(), stored.end(), name) != stored.end();
  };
  std::vector<rocksdb::ColumnFamilyDescriptor> described;
  bool with_default = false;
  for (const FamilyOptions& family : options_.families) {
    if (options_.read_only && !is_stored(family.name)) continue;
    described.emplace_back(family.name, MakeFamilyOptions(family));
    with_default |= family.name == rocksdb::kDefaultColumnFamilyName;
    std::erase(stored, family.name);
  }
  if (!with_default) {
    FamilyOptions plain;
    plain.name = rocksdb::kDefaultColumnFamilyName;
    described.emplace_back(plain.name, MakeFamilyOptions(plain));
    std::erase(stored, plain.name);
  }
  if (!options_.read_only && !stored.empty()) {
    return Status::Invalid(directory_ + " holds the family '" + stored[0] +
                           "', which this kind of store doesn't know: open it as what it is");
  }
  return described;
}

Result<std::vector<std::string>> Database::ListFamilies(const std::string& directory) {
  FLINT_ASSIGN_OR_RETURN(DirectoryState state, InspectDirectory(directory));
  std::vector<std::string> names;
  if (state != DirectoryState::kDatabase) return names;
  FLINT_RETURN_IF_ERROR(RefuseReusedRecords(directory));
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), directory, &names);
  FLINT_RETURN_IF_ERROR(FromRocksDb(status, "list the families", directory));
  return names;
}

Result<std::shared_ptr<Database>> Database::Open(const std::string& directory,
                                                 const DatabaseOptions& options) {
  FLINT_ASSIGN_OR_RETURN(DirectoryState state, InspectDirectory(directory));
  NoFork guard;
  if (state != DirectoryState::kDatabase && (options.read_only || !options.create_if_missing)) {
    return Status::NotFound(directory + ": there is no store");
  }
  std::shared_ptr<Database> database(new Database(directory, options));
  if (state == DirectoryState::kAbsent) FLINT_RETURN_IF_ERROR(CreateDirectories(directory));
  if (!options.read_only) {
    FLINT_ASSIGN_OR_RETURN(database->claim_, DirectoryClaim::Take(directory));
  }
  FLINT_ASSIGN_OR_RETURN(database->memory_, MemoryBudget::Share(options.memory_bytes));
  FLINT_RETURN_IF_ERROR(database->OpenRocksDb());
  if (state == DirectoryState::kEmpty && options.durability == Durability::kMachine) {
    FLINT_RETURN_IF_ERROR(SyncDirectory(ParentOf(database->directory())));
  }
  return database;
}

Database::Database(const std::string& directory, const DatabaseOptions& options)
    : directory_(CanonicalDirectory(directory)),
      options_(options),
      read_mode_(AddressSpaceIsLimited() ? ReadMode::kCache : options.read_mode),
      generation_(ForkGeneration()),
      helpers_(std::make_unique<Helpers>(options.threads)) {}

Status Database::OpenRocksDb() {
  FLINT_ASSIGN_OR_RETURN(auto described, DescribeFamilies());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  LogWatch watch(directory_);
  rocksdb::Status status =
      options_.read_only
          ? rocksdb::DB::OpenForReadOnly(MakeDbOptions(), directory_, described, &handles, &db)
          : rocksdb::DB::Open(MakeDbOptions(), directory_, described, &handles, &db);
  FLINT_RETURN_IF_ERROR(watch.found());
  if (!status.ok()) return OpenFailed(status);
  db_.reset(db);
  for (rocksdb::ColumnFamilyHandle* handle : handles) families_[handle->GetName()] = handle;
  return {};
}

Status Database::OpenFailed(const rocksdb::Status& status) const {
  bool of_lock = status.IsIOError() && status.ToString().find("/LOCK") != std::string::npos;
  if (!of_lock) return From(status, "open the store");
  int64_t holder = LockHolder(directory_);
  if (holder == 0) return From(status, "lock the store");
  return Status::Busy(directory_ + " is already open in process " + std::to_string(holder) +
                      ": close it there, or open it read-only");
}

}  // namespace flint
