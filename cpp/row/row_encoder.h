#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "base/status.h"
#include "row/row_schema.h"

namespace flint {

// Turns many rows of Arrow columns into rows of the newest schema version, one after another in
// memory of its own, which is used again for the next rows. One thread at a time.
//
//   FLINT_RETURN_IF_ERROR(encoder.Encode(columns, 0, batch.num_rows));
//   for (int64_t i = 0; i < batch.num_rows; ++i) Put(key[i], encoder.row(i));
class RowEncoder {
 public:
  explicit RowEncoder(std::shared_ptr<const RowSchema> schema);

  // Rows [first, first + count) of `columns`: columns[k] holds the values of the schema's column k,
  // in any layout of its type (DataType::SameValues). Invalid, by column and row, where a type is
  // another, a null stands in a not-null column or field, or a row is longer than kRowBytesMax;
  // what was encoded before is gone then, too.
  Status Encode(std::span<const ColumnView* const> columns, int64_t first, int64_t count);

  // Of the last Encode, valid until the next one.
  int64_t num_rows() const { return static_cast<int64_t>(ends_.size()) - 1; }
  std::string_view row(int64_t i) const {
    auto at = static_cast<size_t>(i);
    return {buffer_.data() + ends_[at], ends_[at + 1] - ends_[at]};
  }

 private:
  Status Check(std::span<const ColumnView* const> columns, int64_t first, int64_t count) const;
  Status PlaceRows(std::span<const ColumnView* const> columns, int64_t first, int64_t count);
  void WriteHeads(int64_t count);
  void WriteFixed(const MemberLayout& member, const ColumnView& column, int64_t first);
  void WriteVariable(const MemberLayout& member, const ColumnView& column, int64_t first);

  std::shared_ptr<const RowSchema> schema_;
  const TupleLayout& layout_;
  ArrowBuffer buffer_;
  std::vector<size_t> ends_ = {0};  // row i is [ends_[i], ends_[i + 1]) of the buffer
  std::vector<uint32_t> cursors_;   // where row i's next variable value goes, from its first one
};

}  // namespace flint
