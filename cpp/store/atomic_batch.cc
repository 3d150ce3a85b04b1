#include "store/atomic_batch.h"

namespace flint {

Status AtomicBatch::Check(const Table& table) const {
  if (committed_) return Status::Closed("the batch was committed: begin another one");
  if (table.database() == database_) return {};
  return Status::Invalid("table '" + table.schema().name + "' belongs to another store than the " +
                         "batch, which is one of " + database_->directory());
}

Status AtomicBatch::Write(Table& table, WriteKind kind, const BatchView& rows) {
  FLINT_RETURN_IF_ERROR(Check(table));
  return table.AppendTo(kind, rows, &batch_);
}

Status AtomicBatch::DeleteRange(Table& table, const KeyRange& range) {
  FLINT_RETURN_IF_ERROR(Check(table));
  return table.AppendDeleteRange(range, &batch_);
}

Status AtomicBatch::Commit() {
  if (committed_) return Status::Closed("the batch was committed: begin another one");
  committed_ = true;
  return database_->Write(&batch_);
}

}  // namespace flint
