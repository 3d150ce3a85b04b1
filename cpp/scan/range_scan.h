#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_stream.h"
#include "base/status.h"
#include "key/key_decoder.h"
#include "row/row_decoder.h"
#include "scan/row_block.h"
#include "store/table.h"

namespace flint {

struct ScanOptions {
  KeyRange range;
  bool reverse = false;
  std::optional<int64_t> limit;
  // Columns to give, key or value, in this order; none: all.
  std::optional<std::vector<std::string>> columns;
  std::shared_ptr<const Snapshot> snapshot;  // null: as things are when the scan is made
  // A batch ends with whichever is reached first. It has at least one row.
  int64_t batch_rows = 65536;
  size_t batch_bytes = 8 << 20;
};

// The rows of a range of a table, in key order or against it, as batches. Sees the table as it was
// when the scan was made, or as the snapshot has it, whatever is written meanwhile. Holds files and
// memtables of that moment alive as long as it lives: Closed once the database was closed.
class RangeScan : public BatchSource {
 public:
  static Result<std::unique_ptr<RangeScan>> Make(const std::shared_ptr<Table>& table,
                                                 ScanOptions options);

  const Schema& schema() const override { return schema_; }
  Result<std::optional<OwnedArray>> Next() override;

 private:
  RangeScan(std::shared_ptr<Table> table, ScanOptions options)
      : table_(std::move(table)), options_(std::move(options)) {}
  Status Choose();
  std::vector<std::string> Names(const Schema& all) const;
  Status OpenCursor();
  // Gathers rows until the block or the batch is full, or the range at its end.
  void Gather(int64_t rows_left, size_t bytes_left);
  Status DecodeBlock(BatchBuilder* batch) const;

  std::shared_ptr<Table> table_;
  ScanOptions options_;
  Schema schema_;
  std::unique_ptr<Cursor> cursor_;
  bool at_end_ = false;

  // Where the asked columns come from, and go to in the batch.
  std::unique_ptr<KeyDecoder> key_decoder_;  // null: no key column is asked for
  std::unique_ptr<RowDecoder> row_decoder_;
  std::vector<int> key_places_;  // of each key column; -1: not asked for
  std::vector<int> value_places_;

  RowBlock block_;
};

}  // namespace flint
