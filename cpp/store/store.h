#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/catalog.h"
#include "store/database.h"
#include "store/merge_operator.h"
#include "store/table.h"

namespace flint {

struct StoreOptions {
  bool read_only = false;
  bool create_if_missing = true;
  Durability durability = Durability::kProcess;
  Compression compression = Compression::kLz4;
  ReadMode read_mode = ReadMode::kCache;
  uint64_t memory_bytes = 0;  // MemoryBudget::Share
  int threads = 0;            // That one call may keep busy. 0: the processors, 4 at most.
};

// Typed, ordered tables in one database. Thread-safe, but for Open and Close.
class Store {
 public:
  // As Database::Open; Invalid also where the directory holds a database that is not a store.
  static Result<std::shared_ptr<Store>> Open(const std::string& directory,
                                             const StoreOptions& options);

  // The table of that name: made where there is none, its value columns and merges changed where
  // the definition has others (TableSchema::Evolve). Tables that were taken before a change answer
  // Closed after it.
  Result<std::shared_ptr<Table>> OpenTable(const TableDefinition& definition);
  Result<std::shared_ptr<Table>> FindTable(const std::string& name);  // NotFound
  Status DropTable(const std::string& name);
  std::vector<std::string> TableNames() const;

  Status Close();
  Database& database() { return *database_; }
  const std::shared_ptr<Database>& shared_database() const { return database_; }

 private:
  struct Opened {
    std::shared_ptr<TableMergeOperator> merges;
    std::shared_ptr<Table> table;  // null until it is asked for
  };
  Store() = default;
  Status OpenDatabase(const std::string& directory, const StoreOptions& options);
  Status DropOrphans();
  Result<std::shared_ptr<Table>> Take(const std::string& name);
  Result<std::shared_ptr<Table>> Create(const TableDefinition& definition);
  Result<std::shared_ptr<Table>> Change(const TableDefinition& definition);

  std::shared_ptr<Database> database_;
  mutable std::mutex mutex_;  // guards what follows
  Catalog catalog_;
  std::map<std::string, Opened> opened_;
};

}  // namespace flint
