#include "store/batch_encoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/arrow_builder.h"
#include "base/arrow_cast.h"
#include "base/find_column.h"

namespace flint {
namespace {

// Of strings and binaries as Arrow commonly has them; what is nested or viewed is not looked at.
int64_t BytesOf(const ColumnView& column) {
  switch (column.type().id) {
    case TypeId::kString:
    case TypeId::kBinary:
      return column.Offsets<int32_t>()[column.size()] - column.Offsets<int32_t>()[0];
    case TypeId::kLargeString:
    case TypeId::kLargeBinary:
      return column.Offsets<int64_t>()[column.size()] - column.Offsets<int64_t>()[0];
    default:
      return 0;
  }
}

// How pandas hands over an index that nobody gave a name, such as a filtered frame's.
bool IsNamelessIndex(const std::string& name) { return name.starts_with("__index_level_"); }

int64_t PieceRows(const BatchView& batch) {
  int64_t bytes = 0;
  for (const ColumnView& column : batch.columns) {
    if (column.size() > 0) bytes += BytesOf(column);
  }
  int64_t row_bytes = batch.num_rows > 0 ? bytes / batch.num_rows : 0;
  return std::clamp<int64_t>(BatchEncoder::kPieceBytes / (row_bytes + 1), 1,
                             BatchEncoder::kPieceRows);
}

}  // namespace

BatchEncoder::BatchEncoder(std::shared_ptr<const TableSchema> schema)
    : schema_(std::move(schema)),
      functions_(schema_->functions()),
      key_encoder_(schema_->key),
      rows_(schema_->row) {}

Status BatchEncoder::Begin(const BatchView& batch, BatchUse use) {
  FLINT_ASSIGN_OR_RETURN(key_columns_, schema_->key.Select(batch));
  with_rows_ = use != BatchUse::kKeys;
  if (with_rows_) FLINT_RETURN_IF_ERROR(BindValues(batch, use));
  piece_rows_ = PieceRows(batch);
  num_rows_ = batch.num_rows;
  next_ = 0;
  return {};
}

Status BatchEncoder::CheckNames(const BatchView& batch) const {
  const Schema columns = schema_->columns();
  for (const Field& field : batch.schema.fields) {
    if (columns.IndexOf(field.name) >= 0 || IsNamelessIndex(field.name)) continue;
    return Status::Invalid("there is no column '" + field.name + "'; the table's are " +
                           columns.ToString());
  }
  return {};
}

Status BatchEncoder::BindValues(const BatchView& batch, BatchUse use) {
  FLINT_RETURN_IF_ERROR(CheckNames(batch));
  const size_t count = schema_->row->columns().size();
  value_columns_.assign(count, nullptr);
  filled_.clear();
  filled_views_.clear();
  filled_views_.reserve(count);
  for (size_t k = 0; k < count; ++k) FLINT_RETURN_IF_ERROR(BindColumn(batch, k, use));
  return {};
}

Status BatchEncoder::BindColumn(const BatchView& batch, size_t column, BatchUse use) {
  const Field& field = schema_->row->columns()[column];
  const bool merges = use == BatchUse::kMerge;
  if (merges && functions_[column] == MergeFunction::kCount) {
    return FillColumn(column, batch.num_rows);
  }
  FLINT_ASSIGN_OR_RETURN(const int at, FindColumn(batch.schema, field.name));
  if (at >= 0) {
    const ColumnView& given = batch.columns[static_cast<size_t>(at)];
    value_columns_[column] = &given;
    return given.type().SameValues(field.type) ? Status() : CastColumn(column, given);
  }
  if (merges && functions_[column] != MergeFunction::kReplace && field.nullable) {
    return FillColumn(column, batch.num_rows);
  }
  return Status::Invalid("column '" + field.name + "' is missing: the rows have " +
                         batch.schema.ToString());
}

// What can't be cast is left to who encodes it to refuse.
Status BatchEncoder::CastColumn(size_t column, const ColumnView& given) {
  const Field& field = schema_->row->columns()[column];
  if (given.type().id == TypeId::kNull || !MayCast(given.type(), field.type)) return {};
  auto cast = CastExactly(given, field.type);
  if (!cast.ok()) return cast.status().WithContext("column '" + field.name + "'");
  return Keep(column, *std::move(cast));
}

// Ones for a count, else nulls.
Status BatchEncoder::FillColumn(size_t column, int64_t rows) {
  ColumnBuilder builder(schema_->row->columns()[column].type);
  for (int64_t i = 0; i < rows; ++i) {
    if (functions_[column] == MergeFunction::kCount)
      builder.Append<int64_t>(1);
    else
      builder.AppendNull();
  }
  OwnedArray array;
  builder.Finish(array.get());
  return Keep(column, std::move(array));
}

Status BatchEncoder::Keep(size_t column, OwnedArray array) {
  filled_.push_back(std::move(array));
  const DataType type = schema_->row->columns()[column].type.Plain();
  FLINT_ASSIGN_OR_RETURN(auto view, ColumnView::Make(type, *filled_.back()));
  filled_views_.push_back(std::move(view));
  value_columns_[column] = &filled_views_.back();
  return {};
}

// Of what is only needed to encode: an encoder that is kept keeps no caller's columns.
void BatchEncoder::LetGo() {
  key_columns_ = {};
  value_columns_.clear();
  filled_views_.clear();
  filled_.clear();
}

Status BatchEncoder::NextPiece(PieceOrder order, int64_t rows_max) {
  const int64_t count = std::min({rows_max, piece_rows_, num_rows_ - next_});
  keys_.Clear();
  FLINT_RETURN_IF_ERROR(key_encoder_.Append(key_columns_.views, next_, count, &keys_));
  if (with_rows_) FLINT_RETURN_IF_ERROR(rows_.Encode(value_columns_, next_, count));
  if (with_rows_ && count > 0) {
    const char* end = rows_.row(count - 1).data() + rows_.row(count - 1).size();
    row_bytes_ = std::max(row_bytes_, static_cast<size_t>(end - rows_.row(0).data()));
  }
  views_.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) views_[static_cast<size_t>(i)] = keys_[i];
  if (order != PieceOrder::kAsGiven) sorter_.Sort(views_, order == PieceOrder::kAll, &order_);
  next_ += count;
  if (!more()) LetGo();
  return {};
}

}  // namespace flint
