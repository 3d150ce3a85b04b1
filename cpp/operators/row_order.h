#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace flint {

// The rows of a batch, ordered by the part that each belongs to; within a part they keep their
// order. Part p's rows are order[starts[p]] .. order[starts[p + 1] - 1].
struct RowOrder {
  std::vector<int64_t> order;
  std::vector<int64_t> starts;  // one more than there are parts
};

// `part_of_row[i]` is below `parts`. Costs two passes over the rows.
RowOrder OrderByPart(std::span<const uint32_t> part_of_row, uint32_t parts);

// Numbers equal keys alike, from 0 in the order in which they first come.
struct KeyNumbers {
  std::vector<uint32_t> of_row;
  uint32_t count = 0;
};

KeyNumbers NumberKeys(std::span<const std::string_view> keys);

// Which of `buckets` buckets a key group belongs to. Buckets are ranges of groups, as even as can
// be: the first group of bucket b is FirstGroup(b, ...), its last one before that of b + 1.
constexpr uint32_t BucketOf(uint32_t group, uint32_t buckets, uint32_t max_parallelism) {
  return group * buckets / max_parallelism;
}
constexpr uint32_t FirstGroup(uint32_t bucket, uint32_t buckets, uint32_t max_parallelism) {
  return (bucket * max_parallelism + buckets - 1) / buckets;
}

}  // namespace flint
