#include "scan/range_scan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace flint {
namespace {

std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace

Result<std::unique_ptr<RangeScan>> RangeScan::Make(const std::shared_ptr<Table>& table,
                                                   ScanOptions options) {
  FLINT_RETURN_IF_ERROR(table->Usable());
  std::unique_ptr<RangeScan> scan(new RangeScan(table, std::move(options)));
  FLINT_RETURN_IF_ERROR(scan->Choose());
  FLINT_RETURN_IF_ERROR(scan->OpenCursor());
  return scan;
}

std::vector<std::string> RangeScan::Names(const Schema& all) const {
  if (options_.columns) return *options_.columns;
  std::vector<std::string> names;
  for (const Field& field : all.fields) names.push_back(field.name);
  return names;
}

// Which columns are asked for, and who decodes them.
Status RangeScan::Choose() {
  const TableSchema& table = table_->schema();
  const Schema all = table.columns();
  const int num_keys = static_cast<int>(table.key.size());
  key_places_.assign(table.key.size(), -1);
  std::vector<int> values;
  for (const std::string& name : Names(all)) {
    const int at = all.IndexOf(name);
    const int place = static_cast<int>(schema_.size());
    if (at < 0 || schema_.IndexOf(name) >= 0) {
      return Status::Invalid("table '" + table.name +
                             "': " + (at < 0 ? "there is no column '" : "columns has twice '") +
                             name + "'; the table's are " + all.ToString());
    }
    schema_.fields.push_back(all[static_cast<size_t>(at)]);
    if (at < num_keys) {
      key_places_[static_cast<size_t>(at)] = place;
      if (key_decoder_ == nullptr) key_decoder_ = std::make_unique<KeyDecoder>(table.key);
    } else {
      value_places_.push_back(place);
      values.push_back(at - num_keys);
    }
  }
  if (!values.empty()) row_decoder_ = std::make_unique<RowDecoder>(table.row, std::move(values));
  return {};
}

Status RangeScan::OpenCursor() {
  CursorOptions cursor;
  cursor.lower = options_.range.lower;
  cursor.upper = options_.range.upper.value_or("");
  cursor.snapshot = options_.snapshot;
  at_end_ = options_.range.upper && *options_.range.upper <= options_.range.lower;
  FLINT_ASSIGN_OR_RETURN(cursor_, table_->database()->NewCursor(table_->family(), cursor));
  FLINT_ASSIGN_OR_RETURN(auto pin, table_->database()->Enter());
  if (options_.reverse)
    cursor_->iterator()->SeekToLast();
  else
    cursor_->iterator()->SeekToFirst();
  return cursor_->status();
}

void RangeScan::Gather(int64_t rows_left, size_t bytes_left) {
  block_.Clear();
  auto* it = cursor_->iterator();
  const std::string_view none;
  while (it->Valid() && static_cast<int64_t>(block_.size()) < rows_left &&
         block_.bytes() < bytes_left && !block_.full()) {
    std::string_view key = key_decoder_ ? ToView(it->key()) : none;
    std::string_view row = row_decoder_ ? ToView(it->value()) : none;
    block_.Append(key, row);
    if (options_.reverse)
      it->Prev();
    else
      it->Next();
  }
  at_end_ = !it->Valid();
}

Status RangeScan::DecodeBlock(BatchBuilder* batch) const {
  auto builders = [batch](const std::vector<int>& places) {
    std::vector<ColumnBuilder*> out;
    for (int at : places) out.push_back(at < 0 ? nullptr : &batch->column(static_cast<size_t>(at)));
    return out;
  };
  if (key_decoder_) {
    FLINT_RETURN_IF_ERROR(key_decoder_->Append(block_.keys(), builders(key_places_)));
  }
  if (!row_decoder_) return {};
  return row_decoder_->Decode(block_.rows(), builders(value_places_));
}

Result<std::optional<OwnedArray>> RangeScan::Next() {
  FLINT_ASSIGN_OR_RETURN(auto pin, table_->database()->Enter());
  int64_t limit = options_.limit.value_or(std::numeric_limits<int64_t>::max());
  if (at_end_ || limit <= 0) return std::optional<OwnedArray>();
  const int64_t most = std::min(limit, options_.batch_rows);
  BatchBuilder batch(schema_);
  int64_t rows = 0;
  size_t bytes = 0;
  while (!at_end_ && rows < most && bytes < options_.batch_bytes) {
    Gather(most - rows, options_.batch_bytes - bytes);
    Status decoded = DecodeBlock(&batch).WithContext("table '" + table_->schema().name + "'");
    FLINT_RETURN_IF_ERROR(decoded);
    const bool first = rows == 0;
    rows += static_cast<int64_t>(block_.size());
    bytes += block_.bytes();
    if (first && !at_end_ && bytes > 0) {
      const size_t fit = options_.batch_bytes / bytes * static_cast<size_t>(rows);
      batch.ReserveAlike(std::min(most, static_cast<int64_t>(fit)), options_.batch_bytes);
    }
  }
  FLINT_RETURN_IF_ERROR(cursor_->status());
  if (options_.limit) *options_.limit -= rows;
  if (rows == 0) return std::optional<OwnedArray>();
  return std::optional<OwnedArray>(batch.Finish(rows));
}

}  // namespace flint
