#include "store/table.h"

#include <utility>

#include "base/interrupt.h"
#include "store/rocksdb_status.h"

namespace flint {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

BatchUse UseOf(WriteKind kind) {
  if (kind == WriteKind::kPut) return BatchUse::kPut;
  return kind == WriteKind::kMerge ? BatchUse::kMerge : BatchUse::kKeys;
}

PieceOrder OrderOf(WriteKind kind) {
  return kind == WriteKind::kMerge ? PieceOrder::kAll : PieceOrder::kLastOfEach;
}

}  // namespace

Table::Table(std::shared_ptr<Database> database, Family* family,
             std::shared_ptr<const TableSchema> schema)
    : database_(std::move(database)),
      family_(family),
      schema_(std::move(schema)),
      where_("table '" + schema_->name + "'") {}

Status Table::Context(Status status) const { return status.WithContext(where_); }

void Table::Retire(const std::string& why) {
  why_retired_ = why;
  retired_.store(true, std::memory_order_release);
}

Status Table::Usable() const {
  if (!retired_.load(std::memory_order_acquire)) return {};
  return Status::Closed(where_ + ": " + why_retired_ + " since it was taken: take it again");
}

Status Table::AppendPiece(WriteKind kind, const BatchEncoder& piece,
                          rocksdb::WriteBatch* batch) const {
  rocksdb::Status status;
  for (uint32_t i : piece.order()) {
    rocksdb::Slice key = ToSlice(piece.key(i));
    if (kind == WriteKind::kPut)
      status = batch->Put(family_, key, ToSlice(piece.row(i)));
    else if (kind == WriteKind::kMerge)
      status = batch->Merge(family_, key, ToSlice(piece.row(i)));
    else
      status = batch->Delete(family_, key);
    if (!status.ok()) return FromRocksDb(status, "write", database_->directory());
  }
  return {};
}

Status Table::Write(WriteKind kind, const BatchView& rows) {
  FLINT_RETURN_IF_ERROR(Usable());
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());
  EncoderLoan encoder(&encoders_, schema_);
  FLINT_RETURN_IF_ERROR(Context(encoder->Begin(rows, UseOf(kind))));
  rocksdb::WriteBatch batch;
  while (encoder->more()) {
    FLINT_RETURN_IF_ERROR(Context(encoder->NextPiece(OrderOf(kind))));
    batch.Clear();
    FLINT_RETURN_IF_ERROR(Context(AppendPiece(kind, *encoder, &batch)));
    FLINT_RETURN_IF_ERROR(Context(database_->Write(&batch, /*sorted=*/true)));
    if (encoder->more()) FLINT_RETURN_IF_ERROR(CheckInterrupt());
  }
  return {};
}

Status Table::AppendTo(WriteKind kind, const BatchView& rows, rocksdb::WriteBatch* batch) {
  FLINT_RETURN_IF_ERROR(Usable());
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());
  EncoderLoan encoder(&encoders_, schema_);
  FLINT_RETURN_IF_ERROR(Context(encoder->Begin(rows, UseOf(kind))));
  while (encoder->more()) {
    FLINT_RETURN_IF_ERROR(Context(encoder->NextPiece(OrderOf(kind))));
    FLINT_RETURN_IF_ERROR(Context(AppendPiece(kind, *encoder, batch)));
    if (encoder->more()) FLINT_RETURN_IF_ERROR(CheckInterrupt());
  }
  return {};
}

// RocksDB deletes up to a key: where there is no upper bound, up to what follows the last one.
Result<std::optional<std::string>> Table::EndOf(const KeyRange& range) {
  if (range.upper) return range.upper;
  CursorOptions options;
  options.lower = range.lower;
  FLINT_ASSIGN_OR_RETURN(auto cursor, database_->NewCursor(family_, std::move(options)));
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());
  cursor->iterator()->SeekToLast();
  FLINT_RETURN_IF_ERROR(cursor->status());
  if (!cursor->iterator()->Valid()) return std::optional<std::string>();
  return std::optional<std::string>(cursor->iterator()->key().ToString() + '\0');
}

Status Table::AppendDeleteRange(const KeyRange& range, rocksdb::WriteBatch* batch) {
  FLINT_RETURN_IF_ERROR(Usable());
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());
  FLINT_ASSIGN_OR_RETURN(auto upper, EndOf(range));
  if (!upper || *upper <= range.lower) return {};
  return Context(FromRocksDb(batch->DeleteRange(family_, range.lower, *upper), "delete a range",
                             database_->directory()));
}

Status Table::DeleteRange(const KeyRange& range) {
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());
  rocksdb::WriteBatch batch;
  FLINT_RETURN_IF_ERROR(AppendDeleteRange(range, &batch));
  return Context(database_->Write(&batch));
}

Result<bool> Table::GetRow(std::string_view key, rocksdb::PinnableSlice* row,
                           const Snapshot* snapshot) {
  FLINT_RETURN_IF_ERROR(Usable());
  return database_->Get(family_, key, row, snapshot);
}

Result<std::optional<bool>> Table::GetRowInMemory(std::string_view key, rocksdb::PinnableSlice* row,
                                                  const Snapshot* snapshot) {
  FLINT_RETURN_IF_ERROR(Usable());
  return database_->GetInMemory(family_, key, row, snapshot);
}

Status Table::PutRow(std::string_view key, std::string_view row) {
  FLINT_RETURN_IF_ERROR(Usable());
  return database_->Put(family_, key, row);
}

Status Table::DeleteRow(std::string_view key) {
  FLINT_RETURN_IF_ERROR(Usable());
  return database_->Delete(family_, key);
}

Result<std::vector<int>> Table::ValueColumns(
    const std::optional<std::vector<std::string>>& names) const {
  const Schema& columns = schema_->row->columns();
  std::vector<int> chosen;
  if (!names) {
    for (size_t k = 0; k < columns.size(); ++k) chosen.push_back(static_cast<int>(k));
    return chosen;
  }
  for (const std::string& name : *names) {
    chosen.push_back(columns.IndexOf(name));
    if (chosen.back() >= 0) continue;
    return Status::Invalid(where_ + ": there is no value column '" + name + "', but " +
                           columns.ToString());
  }
  return chosen;
}

}  // namespace flint
