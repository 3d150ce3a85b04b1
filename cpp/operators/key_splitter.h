#pragma once

#include <cstdint>

#include "base/arrow_column.h"
#include "base/status.h"
#include "key/key_encoder.h"
#include "key/key_group.h"
#include "operators/row_order.h"

namespace flint {

// Splits batches by their keys: by the bucket that a key belongs to (hash of the canonical key ->
// key group -> bucket), or by the key itself. Const and thread-safe.
class KeySplitter {
 public:
  // `key` gives the key's columns, by name. Invalid where one can't be a key, or where the number
  // of buckets is not within 1 .. max_parallelism.
  static Result<KeySplitter> Make(const Schema& key, uint32_t max_parallelism, uint32_t buckets);

  // Part b holds the rows of bucket b.
  Result<RowOrder> ByBucket(const BatchView& batch) const;
  // A part for each key, in the order in which keys first come.
  Result<RowOrder> ByKey(const BatchView& batch) const;

 private:
  KeySplitter(KeyGroupHash hash, uint32_t buckets)
      : hash_(std::move(hash)), encoder_(hash_.canonical()), buckets_(buckets) {}

  KeyGroupHash hash_;
  KeyEncoder encoder_;
  uint32_t buckets_;
};

}  // namespace flint
