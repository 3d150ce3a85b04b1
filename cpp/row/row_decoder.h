#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/arrow_builder.h"
#include "base/status.h"
#include "row/row_schema.h"

namespace flint {

// Turns stored rows of any version of a schema into Arrow columns of the newest one: those columns
// that are asked for, and no other is looked at. Reading is const and thread-safe.
//
// Nothing read is trusted: a row whose version or sizes are impossible is Corruption. The builders
// then hold unequal numbers of rows, and are only good for being thrown away.
class RowDecoder {
 public:
  // `columns`: indices into schema->columns(), in the order of the builders.
  RowDecoder(std::shared_ptr<const RowSchema> schema, std::vector<int> columns);

  // All columns, in their order.
  explicit RowDecoder(std::shared_ptr<const RowSchema> schema);

  // Appends a value for each row to each of `out`, built for the columns' types. A row whose data
  // pointer is null (std::string_view()) is absent: null in every column.
  // Requires: what `out` got since it was begun adds up to at most 2^31-1 by BytesMax.
  Status Decode(std::span<const std::string_view> rows, std::span<ColumnBuilder* const> out) const;

  // At most so much is added to any one builder by this row: rows are given to builders until the
  // sum would pass 2^31-1 (or sooner), and then the batch is finished.
  size_t BytesMax(std::string_view row) const { return std::max(row.size(), fill_bytes_max_); }

  const std::vector<int>& columns() const { return columns_; }

 private:
  using Rows = std::span<const std::string_view>;

  Status CheckRows(Rows rows, size_t version) const;
  Status DecodeRun(Rows rows, std::span<ColumnBuilder* const> out) const;
  bool DecodeColumn(Rows rows, size_t version, size_t column, ColumnBuilder* out) const;

  std::shared_ptr<const RowSchema> schema_;
  std::vector<int> columns_;
  size_t fill_bytes_max_ = 0;
};

}  // namespace flint
