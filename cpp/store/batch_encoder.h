#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/arrow_abi.h"
#include "base/arrow_column.h"
#include "base/status.h"
#include "key/key_encoder.h"
#include "row/row_encoder.h"
#include "store/key_order.h"
#include "store/table_schema.h"

namespace flint {

// What a batch is for, which says what columns it must have.
enum class BatchUse : uint8_t {
  kPut,    // key and value columns
  kMerge,  // the same, but for columns with a merge function: one left out takes no part
  kKeys,   // key columns; others are left aside
};

// The order of a piece's rows.
enum class PieceOrder : uint8_t {
  kLastOfEach,  // keys ascending; of rows with equal keys the last alone
  kAll,         // keys ascending, rows with equal keys as they were given
  kAsGiven,     // none is made
};

// Turns batches of a table into keys and rows in key order, a piece at a time, in memory that is
// used again for the next. One thread at a time.
//
//   FLINT_RETURN_IF_ERROR(encoder.Begin(batch, BatchUse::kPut));
//   while (encoder.more()) {
//     FLINT_RETURN_IF_ERROR(encoder.NextPiece(PieceOrder::kLastOfEach));
//     for (uint32_t i : encoder.order()) Put(encoder.key(i), encoder.row(i));
//   }
class BatchEncoder {
 public:
  // The rows of a piece, and its bytes as far as they can be told from the columns: what is written
  // as one, and how much memory encoding takes.
  static constexpr int64_t kPieceRows = 16384;
  static constexpr int64_t kPieceBytes = 8 << 20;

  explicit BatchEncoder(std::shared_ptr<const TableSchema> schema);

  // `batch` must outlive the pieces. Invalid, by column, where it is not what the use calls for.
  Status Begin(const BatchView& batch, BatchUse use);
  bool more() const { return next_ < num_rows_; }
  Status NextPiece(PieceOrder order, int64_t rows_max = kPieceRows);

  // Of the piece: rows are numbered from its first one.
  size_t size() const { return views_.size(); }
  int64_t first_row() const { return next_ - static_cast<int64_t>(size()); }  // in the batch
  const std::vector<uint32_t>& order() const { return order_; }
  std::span<const std::string_view> keys() const { return views_; }
  std::string_view key(size_t i) const { return views_[i]; }
  // What is kept for the next piece.
  size_t memory_bytes() const { return keys_.data_bytes() + row_bytes_; }
  std::string_view row(size_t i) const { return rows_.row(static_cast<int64_t>(i)); }

 private:
  Status BindValues(const BatchView& batch, BatchUse use);
  Status BindColumn(const BatchView& batch, size_t column, BatchUse use);
  Status CheckNames(const BatchView& batch) const;
  Status CastColumn(size_t column, const ColumnView& given);
  Status FillColumn(size_t column, int64_t rows);
  void LetGo();
  Status Keep(size_t column, OwnedArray array);

  std::shared_ptr<const TableSchema> schema_;
  const std::vector<MergeFunction> functions_;
  KeyEncoder key_encoder_;
  RowEncoder rows_;
  KeySorter sorter_;

  SelectedColumns key_columns_;
  std::vector<const ColumnView*> value_columns_;
  std::vector<OwnedArray> filled_;  // columns that the batch doesn't have, or in another type
  std::vector<ColumnView> filled_views_;
  int64_t num_rows_ = 0;
  int64_t next_ = 0;
  int64_t piece_rows_ = kPieceRows;  // fewer where rows are large
  size_t row_bytes_ = 0;             // of the largest piece
  bool with_rows_ = false;

  EncodedKeys keys_;
  std::vector<std::string_view> views_;
  std::vector<uint32_t> order_;
};

}  // namespace flint
