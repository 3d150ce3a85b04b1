#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "base/status.h"
#include "key/encoded_keys.h"
#include "operators/row_order.h"
#include "state/backend.h"

namespace flint {

// The rows of one batch by their keys. The keys come in the order of a backend's row keys, so that
// reading or writing all of them goes through its files once; the rows of a key keep their order.
class KeyedRows {
 public:
  // `key` names the key's columns. Invalid where a key does not belong to the backend.
  static Result<KeyedRows> Make(const BatchView& batch, const Schema& key, const Backend& backend);

  std::span<const StateKey> keys() const { return keys_; }
  // The rows in the order of their keys: those of keys()[k] stand from begin(k) to end(k).
  int64_t begin(size_t k) const { return ends_[k]; }
  int64_t end(size_t k) const { return ends_[k + 1]; }
  // Their numbers in the batch, as an int64 array; once.
  OwnedArray TakeOrder();

 private:
  // At least one row.
  Status Order(const EncodedKeys& keys, const Backend& backend);
  Status AddKey(std::string_view key, const Backend& backend);

  std::vector<char> bytes_;  // what keys_ point into, one key behind the other
  std::vector<StateKey> keys_;
  std::vector<int64_t> ends_;
  ColumnBuilder order_{DataType(TypeId::kInt64)};
};

}  // namespace flint
