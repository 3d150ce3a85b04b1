#include "state/ordered_scan.h"

namespace flint {

OrderedScan::OrderedScan(std::shared_ptr<Database> database, const ExpiryRule& expiry,
                         std::string row_key, SuffixRange range, OrderedEntries entries,
                         SuffixRanges cleared, std::unique_ptr<Cursor> cursor)
    : database_(std::move(database)),
      horizon_(expiry.Horizon()),
      row_key_(std::move(row_key)),
      range_(std::move(range)),
      entries_(std::move(entries)),
      cleared_(std::move(cleared)),
      cursor_(std::move(cursor)) {}

Result<bool> OrderedScan::Next(OrderedRow* row) {
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());
  if (reader_ == nullptr) {
    rocksdb::Iterator* store = cursor_ == nullptr ? nullptr : cursor_->iterator();
    reader_ = std::make_unique<ScopeReader>(row_key_, entries_, cleared_, store, range_);
  } else if (reader_->Valid()) {
    reader_->Next();
  }
  auto expired = [this](std::string_view stored) {
    return IsStamped(stored) && StampOf(stored) <= horizon_;
  };
  while (reader_->Valid() && expired(reader_->stored())) reader_->Next();
  if (reader_->Valid()) {
    row->suffix.assign(reader_->suffix());
    row->stored.assign(reader_->stored());
    return true;
  }
  if (cursor_ != nullptr) FLINT_RETURN_IF_ERROR(cursor_->status());
  return false;
}

}  // namespace flint
