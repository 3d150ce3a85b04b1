#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arrow_type.h"
#include "base/status.h"
#include "key/key_schema.h"
#include "row/row_schema.h"
#include "store/merge_function.h"

namespace flint {

using MergeFunctions = std::map<std::string, MergeFunction>;  // by value column

// What a caller says of a table when opening it.
struct TableDefinition {
  std::string name;
  std::vector<KeyColumn> key;
  Schema value;
  std::vector<ColumnDefault> defaults;  // what older rows hold in columns that are added
  MergeFunctions merge;
};

// What the catalogue keeps of a table. Immutable once made.
struct TableSchema {
  std::string name;
  uint64_t id = 0;
  std::vector<KeyColumn> key_columns;
  KeySchema key;
  std::shared_ptr<const RowSchema> row;
  MergeFunctions merge;

  // A new table's; Invalid, by column, where the definition has no meaning.
  static Result<TableSchema> Make(const TableDefinition& definition, uint64_t id);
  // This one with the value columns and merges of `definition`. Invalid where the key differs, or
  // the value columns can't have become so (RowSchema::Evolve).
  Result<TableSchema> Evolve(const TableDefinition& definition) const;

  // The record of docs/format/store.md, and back: Corruption, by the table's name.
  std::string Serialize() const;
  static Result<TableSchema> Parse(std::string_view name, std::string_view record);

  // The column family that holds the rows: "t1".
  std::string family() const;
  // One for each value column, for RowMerger.
  std::vector<MergeFunction> functions() const;
  // Key columns, then value columns: what a scan gives.
  Schema columns() const;

 private:
  Status Check() const;
};

}  // namespace flint
