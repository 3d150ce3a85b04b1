#include "scan/range_reader.h"

#include <algorithm>
#include <utility>

namespace flint {
namespace {

std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace

Result<std::unique_ptr<RangeReader>> RangeReader::Open(std::shared_ptr<const ScanPlan> plan,
                                                       KeyRange range, bool fill_cache) {
  std::unique_ptr<RangeReader> reader(new RangeReader(std::move(plan), std::move(range)));
  const KeyRange& kept = reader->range_;
  reader->at_end_ = kept.upper && *kept.upper <= kept.lower;
  if (reader->at_end_) return reader;
  CursorOptions options;
  options.lower = kept.lower;
  options.upper = kept.upper.value_or("");
  options.snapshot = reader->plan_->snapshot();
  options.fill_cache = fill_cache;
  Table& table = reader->plan_->table();
  FLINT_ASSIGN_OR_RETURN(reader->cursor_, table.database()->NewCursor(table.family(), options));
  auto* it = reader->cursor_->iterator();
  if (reader->plan_->reverse())
    it->SeekToLast();
  else
    it->SeekToFirst();
  reader->at_end_ = !it->Valid();
  FLINT_RETURN_IF_ERROR(reader->cursor_->status());
  return reader;
}

void RangeReader::Gather(int64_t rows_left, size_t bytes_left) {
  block_.Clear();
  auto* it = cursor_->iterator();
  const bool reverse = plan_->reverse(), keys = plan_->reads_keys(), rows = plan_->reads_rows();
  const std::string_view none;
  bool more = true;
  while (more && static_cast<int64_t>(block_.size()) < rows_left && block_.bytes() < bytes_left &&
         !block_.full()) {
    block_.Append(keys ? ToView(it->key()) : none, rows ? ToView(it->value()) : none);
    if (reverse)
      it->Prev();
    else
      it->Next();
    more = it->Valid();
  }
  at_end_ = !more;
}

Result<std::optional<OwnedArray>> RangeReader::Read(const BatchLimits& limits,
                                                    const std::atomic<bool>* stop) {
  BatchBuilder batch(plan_->schema());
  int64_t rows = 0;
  size_t bytes = 0;
  while (!at_end_ && rows < limits.rows && bytes < limits.bytes) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) break;
    Gather(limits.rows - rows, limits.bytes - bytes);
    FLINT_RETURN_IF_ERROR(plan_->Decode(block_, &batch));
    const bool first = rows == 0;
    rows += static_cast<int64_t>(block_.size());
    bytes += block_.bytes();
    if (first && !at_end_ && bytes > 0) {
      const size_t fit = limits.bytes / bytes * static_cast<size_t>(rows);
      batch.ReserveAlike(std::min(limits.rows, static_cast<int64_t>(fit)), limits.bytes);
    }
  }
  if (cursor_ != nullptr) FLINT_RETURN_IF_ERROR(cursor_->status());
  rows_done_ += rows;
  bytes_done_ += bytes;
  if (rows == 0) return std::optional<OwnedArray>();
  return std::optional<OwnedArray>(batch.Finish(rows));
}

std::string RangeReader::Position() const {
  std::string key = cursor_->iterator()->key().ToString();
  if (plan_->reverse()) key += '\0';
  return key;
}

KeyRange RangeReader::Done() const {
  if (plan_->reverse()) return {Position(), range_.upper};
  return {range_.lower, Position()};
}

KeyRange RangeReader::Rest() const {
  if (plan_->reverse()) return {range_.lower, Position()};
  return {Position(), range_.upper};
}

}  // namespace flint
