#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/arrow_builder.h"
#include "base/status.h"
#include "key/key_schema.h"

namespace flint {

// Decodes keys to columns. Const and thread-safe.
class KeyDecoder {
 public:
  explicit KeyDecoder(KeySchema schema);

  const KeySchema& schema() const { return schema_; }

  // Appends the first out.size() columns of each key to *out[k], builders of the types of
  // schema().schema(); nullptr where a column isn't wanted. Where all columns are read, bytes left
  // over are Corruption, as is all that no encoder writes. After an error the builders hold no
  // promise. The caller sees to it that a batch's strings stay below 2^31 bytes, which they do
  // where the keys themselves do.
  Status Append(std::span<const std::string_view> keys, std::span<ColumnBuilder* const> out) const;

 private:
  KeySchema schema_;
};

}  // namespace flint
