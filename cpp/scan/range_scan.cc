#include "scan/range_scan.h"

#include <algorithm>
#include <utility>

namespace flint {
namespace {

// A scan that goes on behind so many rows is a large one. They are its first batch, so that it
// is known soon.
constexpr int64_t kFirstRows = 16384;

}  // namespace

bool RangeScan::MayReadAhead() const {
  return undecided_ && batch_.rows >= kFirstRows && rows_left_ > 4 * batch_.rows;
}

Result<RangeSource> RangeSource::Make(const std::shared_ptr<Table>& table, ScanOptions options) {
  FLINT_RETURN_IF_ERROR(table->Usable());
  std::shared_ptr<const Snapshot> snapshot = std::move(options.snapshot);
  if (snapshot == nullptr) {
    FLINT_ASSIGN_OR_RETURN(snapshot, table->database()->NewSnapshot());
  }
  FLINT_ASSIGN_OR_RETURN(
      auto plan, ScanPlan::Make(table, options.columns, std::move(snapshot), options.reverse));
  return RangeSource(options, std::move(plan));
}

Result<std::unique_ptr<RangeScan>> RangeSource::Open() const {
  FLINT_ASSIGN_OR_RETURN(auto pin, plan_->table().database()->Enter());
  std::unique_ptr<RangeScan> scan(new RangeScan(plan_, batch_, limit_));
  scan->undecided_ = plan_->table().database()->helpers().threads() > 1;
  FLINT_ASSIGN_OR_RETURN(scan->reader_, RangeReader::Open(plan_, range_));
  return scan;
}

Result<std::unique_ptr<RangeScan>> RangeScan::Make(const std::shared_ptr<Table>& table,
                                                   ScanOptions options) {
  FLINT_ASSIGN_OR_RETURN(RangeSource source, RangeSource::Make(table, std::move(options)));
  return source.Open();
}

BatchLimits RangeScan::NextLimits() const {
  BatchLimits limits = batch_;
  if (MayReadAhead()) limits = {kFirstRows, batch_.bytes / 4};
  limits.rows = std::min(limits.rows, rows_left_);
  return limits;
}

// The next part's first batch, or none.
Result<std::optional<OwnedArray>> RangeScan::TakePart() {
  std::optional<OwnedArray> batch;
  FLINT_ASSIGN_OR_RETURN(auto part, ahead_->Next(rows_left_));
  if (!part) {
    ahead_.reset();
    return batch;
  }
  reader_ = std::move(part->reader);
  batch = std::move(part->batch);
  if (batch && (*batch)->length > rows_left_) {
    batch.reset();
    FLINT_ASSIGN_OR_RETURN(reader_, RangeReader::Open(plan_, std::move(part->range)));
  }
  return batch;
}

Result<std::optional<OwnedArray>> RangeScan::Read() {
  std::optional<OwnedArray> batch;
  while (!batch && rows_left_ > 0 && (reader_ != nullptr || ahead_ != nullptr)) {
    if (reader_ == nullptr) {
      FLINT_ASSIGN_OR_RETURN(batch, TakePart());
    } else if (reader_->at_end()) {
      reader_.reset();
    } else if (reader_->rows_done() > 0 && MayReadAhead()) {
      undecided_ = false;
      ahead_ = ReadAhead::Make(plan_, *reader_, batch_);
      if (ahead_ != nullptr) reader_.reset();
    } else {
      FLINT_ASSIGN_OR_RETURN(batch, reader_->Read(NextLimits()));
    }
  }
  return batch;
}

Result<std::optional<OwnedArray>> RangeScan::Next() {
  FLINT_ASSIGN_OR_RETURN(auto pin, plan_->table().database()->Enter());
  FLINT_RETURN_IF_ERROR(failed_);
  auto batch = Read();
  failed_ = batch.status();  // what follows it would look as if nothing was missing
  if (batch.ok() && *batch) rows_left_ -= (**batch)->length;
  return batch;
}

}  // namespace flint
