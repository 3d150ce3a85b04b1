#include "state/ordered_scan.h"

namespace flint {

OrderedScan::OrderedScan(std::shared_ptr<Database> database, int64_t hidden, std::string row_key,
                         SuffixRange range, RowOverlay entries, SuffixRanges cleared,
                         std::unique_ptr<Cursor> cursor)
    : database_(std::move(database)),
      hidden_(hidden),
      row_key_(std::move(row_key)),
      range_(std::move(range)),
      entries_(std::move(entries)),
      cleared_(std::move(cleared)),
      cursor_(std::move(cursor)) {}

void OrderedScan::GiveBack() {
  reader_.reset();
  if (spare_ != nullptr && cursor_ != nullptr) spare_->push_back(std::move(cursor_));
  spare_.reset();
}

Result<bool> OrderedScan::Next(std::string_view* suffix, std::string_view* stored) {
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());
  if (done_) return false;
  if (reader_ == nullptr) {
    rocksdb::Iterator* store = cursor_ == nullptr ? nullptr : cursor_->iterator();
    reader_ = std::make_unique<ScopeReader>(row_key_, entries_, cleared_, store, range_);
  } else {
    reader_->Next();
  }
  auto hidden = [this](std::string_view value) {
    return IsStamped(value) && StampOf(value) <= hidden_;
  };
  while (reader_->Valid() && hidden(reader_->stored())) reader_->Next();
  if (reader_->Valid()) {
    *suffix = reader_->suffix();
    *stored = reader_->stored();
    if (reader_->from_cache()) return true;
    *suffix = suffix_.assign(*suffix);
    *stored = stored_.assign(*stored);
    return true;
  }
  done_ = true;
  if (cursor_ != nullptr) FLINT_RETURN_IF_ERROR(cursor_->status());
  GiveBack();
  return false;
}

}  // namespace flint
