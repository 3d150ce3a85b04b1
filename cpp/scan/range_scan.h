#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arrow_stream.h"
#include "base/status.h"
#include "scan/range_reader.h"
#include "scan/read_ahead.h"
#include "scan/scan_plan.h"
#include "store/table.h"

namespace flint {

struct ScanOptions {
  KeyRange range;
  bool reverse = false;
  std::optional<int64_t> limit;
  // Columns to give, key or value, in this order; none: all.
  std::optional<std::vector<std::string>> columns;
  std::shared_ptr<const Snapshot> snapshot;  // null: as things are when the scan is made
  BatchLimits batch;
};

// The rows of a range of a table, in key order or against it, as batches. Sees the table as it was
// when the scan was made, or as the snapshot has it, whatever is written meanwhile. Holds files and
// memtables of that moment alive as long as it lives: Closed once the database was closed.
//
// A large one is read ahead by the database's helpers, side by side; its batches are smaller then.
class RangeScan : public BatchSource {
 public:
  static Result<std::unique_ptr<RangeScan>> Make(const std::shared_ptr<Table>& table,
                                                 ScanOptions options);

  const Schema& schema() const override { return plan_->schema(); }
  Result<std::optional<OwnedArray>> Next() override;

 private:
  explicit RangeScan(const ScanOptions& options)
      : batch_(options.batch), rows_left_(options.limit.value_or(kNoLimit)) {}
  static constexpr int64_t kNoLimit = INT64_MAX;
  bool MayReadAhead() const;
  BatchLimits NextLimits() const;
  Result<std::optional<OwnedArray>> Read();
  Result<std::optional<OwnedArray>> TakePart();

  const BatchLimits batch_;
  int64_t rows_left_;
  std::shared_ptr<const ScanPlan> plan_;
  std::unique_ptr<RangeReader> reader_;
  bool undecided_ = true;             // whether to read ahead
  std::unique_ptr<ReadAhead> ahead_;  // behind reader_; null: nothing is
  Status failed_;
};

}  // namespace flint
