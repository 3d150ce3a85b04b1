#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

class RangeScan;

// A range of a table as it was when this was made, or as the snapshot has it, whatever is written
// meanwhile: to be read any number of times, by several threads if need be. As long as it lives,
// what was overwritten since stays on the disk. Immutable.
class RangeSource {
 public:
  static Result<RangeSource> Make(const std::shared_ptr<Table>& table, ScanOptions options);

  const Schema& schema() const { return plan_->schema(); }
  Result<std::unique_ptr<RangeScan>> Open() const;

 private:
  RangeSource(const ScanOptions& options, std::shared_ptr<const ScanPlan> plan)
      : range_(options.range),
        limit_(options.limit),
        batch_(options.batch),
        plan_(std::move(plan)) {}

  KeyRange range_;
  std::optional<int64_t> limit_;
  BatchLimits batch_;
  std::shared_ptr<const ScanPlan> plan_;
};

// The rows of a range, in key order or against it, as batches, once. Holds files and memtables of
// the moment it sees alive as long as it lives: Closed once the database was closed.
//
// A large one is read ahead by the database's helpers, side by side; its batches are smaller then.
class RangeScan : public BatchSource {
 public:
  // As RangeSource::Make and Open.
  static Result<std::unique_ptr<RangeScan>> Make(const std::shared_ptr<Table>& table,
                                                 ScanOptions options);

  const Schema& schema() const override { return plan_->schema(); }
  Result<std::optional<OwnedArray>> Next() override;

 private:
  friend class RangeSource;
  RangeScan(std::shared_ptr<const ScanPlan> plan, const BatchLimits& batch,
            std::optional<int64_t> limit)
      : batch_(batch), rows_left_(limit.value_or(kNoLimit)), plan_(std::move(plan)) {}
  static constexpr int64_t kNoLimit = INT64_MAX;
  bool MayReadAhead() const;
  BatchLimits NextLimits() const;
  Result<std::optional<OwnedArray>> Read();
  Result<std::optional<OwnedArray>> TakePart();

  const BatchLimits batch_;
  int64_t rows_left_;
  const std::shared_ptr<const ScanPlan> plan_;
  std::unique_ptr<RangeReader> reader_;
  bool undecided_ = true;             // whether to read ahead
  std::unique_ptr<ReadAhead> ahead_;  // behind reader_; null: nothing is
  Status failed_;
};

}  // namespace flint
