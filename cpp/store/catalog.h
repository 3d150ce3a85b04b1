#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "store/table_schema.h"

namespace flint {

class Database;

inline constexpr char kCatalogFamily[] = "_catalog";

// The tables of a store, as kept in its `_catalog` family (docs/format/store.md). Not thread-safe.
class Catalog {
 public:
  // Invalid where `database` is no store, or one of a later format; NotFound where it is one whose
  // creation was cut short.
  static Result<Catalog> Read(Database& database);
  // For a store that is being made.
  Status Create(Database& database);

  const std::map<std::string, std::shared_ptr<const TableSchema>>& tables() const {
    return tables_;
  }
  // The id of the next table; never given twice, not even to one that was dropped.
  uint64_t next_id() const { return next_id_; }
  // Whether it was neither read nor created.
  bool is_new() const { return is_new_; }

  // Both are durable to the machine when they return.
  Status Put(Database& database, TableSchema schema);
  Status Drop(Database& database, const std::string& name);

 private:
  bool is_new_ = true;
  uint64_t next_id_ = 1;
  std::map<std::string, std::shared_ptr<const TableSchema>> tables_;
};

}  // namespace flint
