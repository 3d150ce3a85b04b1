#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"

namespace flint::changelog {

// A column of strings or binaries of any layout, taken many rows at a time: what lies in one piece
// is copied in one piece. Borrows the column. Made of a null pointer, all rows are empty.
class BytesColumn {
 public:
  explicit BytesColumn(const ColumnView* column) : column_(column) {}

  // The sizes of rows from..from+count-1.
  void Sizes(int64_t from, size_t count, size_t* sizes) const;
  // Appends the bytes of the same rows.
  void AppendTo(ArrowBuffer* out, int64_t from, size_t count) const;

 private:
  const ColumnView* column_;
};

}  // namespace flint::changelog
