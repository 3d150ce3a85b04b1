#pragma once

#include <cstdint>
#include <span>

#include "base/arrow_column.h"
#include "base/arrow_stream.h"
#include "base/status.h"
#include "key/encoded_keys.h"
#include "key/key_schema.h"

namespace flint {

// Encodes whole columns. Const and thread-safe: all that a call needs is its own.
class KeyEncoder {
 public:
  explicit KeyEncoder(KeySchema schema);
  // Only the first `columns` columns: prefixes of keys.
  KeyEncoder(KeySchema schema, size_t columns);

  const KeySchema& schema() const { return schema_; }
  size_t columns() const { return columns_; }

  // Appends the keys of the batch's rows, its columns taken by name.
  Status Append(const BatchView& batch, EncodedKeys* keys) const;
  // The same for all batches of a stream.
  Status AppendAll(BatchSource* source, EncodedKeys* keys) const;
  // Appends the keys of rows from .. from+count-1, column k of the key being columns[k], of any
  // layout. After an error `keys` holds no promise: clear it.
  Status Append(std::span<const ColumnView> columns, int64_t from, int64_t count,
                EncodedKeys* keys) const;

 private:
  Status CheckNulls(std::span<const ColumnView> columns, int64_t from, int64_t count) const;

  KeySchema schema_;
  size_t columns_;
};

}  // namespace flint
