#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/status.h"
#include "key/key_decoder.h"
#include "row/row_decoder.h"
#include "scan/scanned_rows.h"
#include "store/table.h"

namespace flint {

// What a scan reads, whatever the range: of which table, as it was when, which columns, in which
// direction. Immutable once made: several threads may decode by it.
class ScanPlan {
 public:
  // `columns`: key or value columns, in the order in which they are given; none: all. Invalid
  // where one is unknown or there twice.
  static Result<std::shared_ptr<const ScanPlan>> Make(
      std::shared_ptr<Table> table, const std::optional<std::vector<std::string>>& columns,
      std::shared_ptr<const Snapshot> snapshot, bool reverse);

  Table& table() const { return *table_; }
  const std::shared_ptr<const Snapshot>& snapshot() const { return snapshot_; }  // or null
  bool reverse() const { return reverse_; }
  const Schema& schema() const { return schema_; }
  bool reads_keys() const { return key_decoder_ != nullptr; }
  bool reads_rows() const { return row_decoder_ != nullptr; }

  // Appends the block's rows to the columns of `batch`.
  Status Decode(const ScannedRows& block, BatchBuilder* batch) const;

 private:
  ScanPlan(std::shared_ptr<Table> table, std::shared_ptr<const Snapshot> snapshot, bool reverse)
      : table_(std::move(table)), snapshot_(std::move(snapshot)), reverse_(reverse) {}
  Status Choose(const std::vector<std::string>& names);

  std::shared_ptr<Table> table_;
  std::shared_ptr<const Snapshot> snapshot_;
  bool reverse_;
  Schema schema_;

  // Where the asked columns come from, and go to in the batch.
  std::unique_ptr<KeyDecoder> key_decoder_;  // null: no key column is asked for
  std::unique_ptr<RowDecoder> row_decoder_;
  std::vector<int> key_places_;  // of each key column; -1: not asked for
  std::vector<int> value_places_;
};

}  // namespace flint
