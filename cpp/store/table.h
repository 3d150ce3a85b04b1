#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_abi.h"
#include "base/arrow_column.h"
#include "base/status.h"
#include "store/database.h"
#include "store/encoder_loan.h"
#include "store/key_range.h"
#include "store/table_schema.h"

namespace flint {

struct GetOptions {
  // Value columns to read, by name; none: all.
  std::optional<std::vector<std::string>> columns;
  std::string found;  // name of a bool column that says which keys are there; empty: none
  std::shared_ptr<const Snapshot> snapshot;
};

// What is done with the rows of a batch.
enum class WriteKind : uint8_t { kPut, kMerge, kDelete };

// A typed, ordered map: key columns to value columns. Thread-safe. Everything fails with Closed
// once the database is closed or the table retired.
class Table {
 public:
  Table(std::shared_ptr<Database> database, Family* family,
        std::shared_ptr<const TableSchema> schema);

  const TableSchema& schema() const { return *schema_; }
  const std::shared_ptr<const TableSchema>& shared_schema() const { return schema_; }
  const std::shared_ptr<Database>& database() const { return database_; }
  Family* family() const { return family_; }
  // Ok, or why the table is not to be used any more.
  Status Usable() const;
  // The status, saying that it is this table's.
  Status Context(Status status) const;
  // From now on the table is not to be used, because of `why`.
  void Retire(const std::string& why);

  // Applies a batch in key order, a few thousand rows at a time, each such piece as one. Of rows
  // with equal keys the last wins; kMerge merges them all. kDelete wants key columns alone.
  Status Write(WriteKind kind, const BatchView& rows);
  // The same onto `batch`, for writes to several tables as one.
  Status AppendTo(WriteKind kind, const BatchView& rows, rocksdb::WriteBatch* batch);
  Status DeleteRange(const KeyRange& range);
  Status AppendDeleteRange(const KeyRange& range, rocksdb::WriteBatch* batch);

  // A row for each key, in their order: key columns, then value columns, null where absent. All as
  // they were at one moment.
  Result<OwnedArray> GetMany(const BatchView& keys, const GetOptions& options);
  // The columns of what GetMany gives; Invalid where there is none of a name.
  Result<Schema> GetManySchema(const GetOptions& options) const;

  // Single rows, already encoded.
  Result<bool> GetRow(std::string_view key, rocksdb::PinnableSlice* row,
                      const Snapshot* snapshot = nullptr);
  // The same, as far as memory goes: nullopt where files would have to be read.
  Result<std::optional<bool>> GetRowInMemory(std::string_view key, rocksdb::PinnableSlice* row,
                                             const Snapshot* snapshot = nullptr);
  Status PutRow(std::string_view key, std::string_view row);
  Status DeleteRow(std::string_view key);

  // Indices of value columns by name; all of them where there are no names.
  Result<std::vector<int>> ValueColumns(const std::optional<std::vector<std::string>>& names) const;

 private:
  Status AppendPiece(WriteKind kind, const BatchEncoder& piece, rocksdb::WriteBatch* batch) const;
  // The range's end as bytes that can be compared with; nullopt: the table is empty from there on.
  Result<std::optional<std::string>> EndOf(const KeyRange& range);

  std::shared_ptr<Database> database_;
  Family* family_;
  std::shared_ptr<const TableSchema> schema_;
  std::string where_;  // "table 'clicks'"

  std::atomic<bool> retired_{false};
  std::string why_retired_;

  IdleEncoders encoders_;
};

}  // namespace flint
