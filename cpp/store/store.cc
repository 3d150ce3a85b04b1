#include "store/store.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "store/ingest.h"

namespace flint {
namespace {

FamilyOptions CatalogFamily() {
  FamilyOptions family;
  family.name = kCatalogFamily;
  family.bloom = false;
  family.memtable_bytes = 1 << 20;
  return family;
}

FamilyOptions TableFamily(const TableSchema& schema,
                          const std::shared_ptr<TableMergeOperator>& merges) {
  FamilyOptions family;
  family.name = schema.family();
  family.merge_operator = merges;
  return family;
}

std::shared_ptr<TableMergeOperator> MakeMerges(const TableSchema& schema) {
  return std::make_shared<TableMergeOperator>(
      std::make_shared<const RowMerger>(schema.row, schema.functions()));
}

int DefaultThreads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
}

DatabaseOptions OptionsFor(const StoreOptions& options) {
  DatabaseOptions database;
  database.read_only = options.read_only;
  database.create_if_missing = options.create_if_missing;
  database.durability = options.durability;
  // Without a log, what a batch wrote to several tables must reach files together.
  database.atomic_flush = options.durability == Durability::kNone;
  database.compression = options.compression;
  database.read_mode = options.read_mode;
  database.memory_bytes = options.memory_bytes;
  database.threads = options.threads > 0 ? options.threads : DefaultThreads();
  database.families.push_back(CatalogFamily());
  return database;
}

// RocksDB wants to know how a family merges before it opens it, and the catalogue, which says so,
// is in the database: so it is read first, through an opening of its own that changes nothing.
Result<Catalog> ReadCatalogOf(const std::string& directory, const StoreOptions& options) {
  DatabaseOptions reading = OptionsFor(options);
  reading.read_only = true;
  FLINT_ASSIGN_OR_RETURN(auto database, Database::Open(directory, reading));
  return Catalog::Read(*database);
}

// A database with no family of ours is a store whose making was cut short, or someone else's.
Status CheckUnfinished(const std::string& directory) {
  const Status foreign =
      Status::Invalid(directory + " holds a RocksDB database that is not a flintstate store");
  DatabaseOptions reading;
  reading.read_only = true;
  auto database = Database::Open(directory, reading);
  if (!database.ok()) {
    return database.status().kind() == ErrorKind::kInvalid ? foreign : database.status();
  }
  FLINT_ASSIGN_OR_RETURN(auto pin, (*database)->Enter());
  FLINT_ASSIGN_OR_RETURN(Family * family,
                         (*database)->FindFamily(rocksdb::kDefaultColumnFamilyName));
  FLINT_ASSIGN_OR_RETURN(auto cursor, (*database)->NewCursor(family, {}));
  cursor->iterator()->SeekToFirst();
  return cursor->iterator()->Valid() ? foreign : cursor->status();
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<std::shared_ptr<Store>> Store::Open(const std::string& directory,
                                           const StoreOptions& options) {
  std::shared_ptr<Store> store(new Store());
  FLINT_RETURN_IF_ERROR(store->OpenDatabase(directory, options));
  return store;
}

Status Store::OpenDatabase(const std::string& directory, const StoreOptions& options) {
  FLINT_ASSIGN_OR_RETURN(auto families, Database::ListFamilies(directory));
  const bool is_new = families.size() <= 1;
  if (families.size() == 1) FLINT_RETURN_IF_ERROR(CheckUnfinished(directory));
  if (!is_new && !Has(families, kCatalogFamily)) {
    return Status::Invalid(directory + " holds a RocksDB database that is not a flintstate store");
  }
  DatabaseOptions database = OptionsFor(options);
  if (!is_new) {
    Result<Catalog> catalog = ReadCatalogOf(directory, options);
    bool unfinished = families.size() == 2 && !options.read_only && !catalog.ok() &&
                      catalog.status().kind() == ErrorKind::kNotFound;
    if (!catalog.ok() && !unfinished) return catalog.status();
    if (catalog.ok()) catalog_ = *std::move(catalog);
  }
  for (const auto& [name, schema] : catalog_.tables()) {
    opened_[name].merges = MakeMerges(*schema);
    database.families.push_back(TableFamily(*schema, opened_[name].merges));
    std::erase(families, schema->family());
  }
  for (const std::string& family : families) {  // of tables whose making or dropping was cut short
    if (family.starts_with('t')) database.families.emplace_back().name = family;
  }
  FLINT_ASSIGN_OR_RETURN(database_, Database::Open(directory, database));
  if (options.read_only) return {};
  DeleteLeftIngestions(directory);
  if (catalog_.is_new()) FLINT_RETURN_IF_ERROR(catalog_.Create(*database_));
  return DropOrphans();
}

Status Store::DropOrphans() {
  std::vector<std::string> wanted = {kCatalogFamily, rocksdb::kDefaultColumnFamilyName};
  for (const auto& [name, schema] : catalog_.tables()) wanted.push_back(schema->family());
  for (const std::string& name : database_->FamilyNames()) {
    if (Has(wanted, name)) continue;
    FLINT_ASSIGN_OR_RETURN(Family * family, database_->FindFamily(name));
    FLINT_RETURN_IF_ERROR(database_->DropFamily(family));
  }
  return {};
}

Result<std::shared_ptr<Table>> Store::OpenTable(const TableDefinition& definition) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto context = "table '" + definition.name + "'";
  auto made = catalog_.tables().contains(definition.name) ? Change(definition) : Create(definition);
  if (!made.ok()) return made.status().WithContext(context);
  return made;
}

Result<std::shared_ptr<Table>> Store::FindTable(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (catalog_.tables().contains(name)) return Take(name);
  std::string known;
  for (const auto& [other, schema] : catalog_.tables())
    known += (known.empty() ? "" : ", ") + other;
  return Status::NotFound(database_->directory() + ": there is no table '" + name + "'" +
                          (known.empty() ? "" : ", but " + known) +
                          "; give key= and value= to make one");
}

Result<std::shared_ptr<Table>> Store::Take(const std::string& name) {
  Opened& opened = opened_[name];
  if (opened.table == nullptr) {
    auto schema = catalog_.tables().at(name);
    FLINT_ASSIGN_OR_RETURN(Family * family, database_->FindFamily(schema->family()));
    opened.table = std::make_shared<Table>(database_, family, std::move(schema));
  }
  return opened.table;
}

Result<std::shared_ptr<Table>> Store::Create(const TableDefinition& definition) {
  FLINT_ASSIGN_OR_RETURN(auto schema, TableSchema::Make(definition, catalog_.next_id()));
  auto merges = MakeMerges(schema);
  FLINT_RETURN_IF_ERROR(database_->CreateFamily(TableFamily(schema, merges)).status());
  FLINT_RETURN_IF_ERROR(catalog_.Put(*database_, std::move(schema)));
  opened_[definition.name].merges = std::move(merges);
  return Take(definition.name);
}

Result<std::shared_ptr<Table>> Store::Change(const TableDefinition& definition) {
  const TableSchema& now = *catalog_.tables().at(definition.name);
  FLINT_ASSIGN_OR_RETURN(auto wanted, now.Evolve(definition));
  const bool same_columns = wanted.row->num_versions() == now.row->num_versions();
  if (same_columns && wanted.merge == now.merge) return Take(definition.name);
  Opened& opened = opened_[definition.name];
  auto merger = std::make_shared<const RowMerger>(wanted.row, wanted.functions());
  if (database_->read_only()) {  // seen as asked for, kept as it is
    FLINT_ASSIGN_OR_RETURN(Family * family, database_->FindFamily(now.family()));
    opened.merges->Replace(std::move(merger));
    return std::make_shared<Table>(database_, family,
                                   std::make_shared<const TableSchema>(std::move(wanted)));
  }
  FLINT_RETURN_IF_ERROR(catalog_.Put(*database_, std::move(wanted)));
  opened.merges->Replace(std::move(merger));
  if (opened.table != nullptr) opened.table->Retire("its columns have changed");
  opened.table.reset();
  return Take(definition.name);
}

Status Store::DropTable(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = catalog_.tables().find(name);
  if (found == catalog_.tables().end()) {
    return Status::NotFound(database_->directory() + ": there is no table '" + name + "'");
  }
  FLINT_ASSIGN_OR_RETURN(Family * family, database_->FindFamily(found->second->family()));
  FLINT_RETURN_IF_ERROR(catalog_.Drop(*database_, name));
  if (opened_[name].table != nullptr) opened_[name].table->Retire("it was dropped");
  opened_.erase(name);
  return database_->DropFamily(family);
}

std::vector<std::string> Store::TableNames() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, schema] : catalog_.tables()) names.push_back(name);
  return names;
}

Status Store::Close() { return database_->Close(); }

}  // namespace flint
