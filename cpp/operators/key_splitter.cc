#include "operators/key_splitter.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace flint {

Result<KeySplitter> KeySplitter::Make(const Schema& key, uint32_t max_parallelism,
                                      uint32_t buckets) {
  FLINT_ASSIGN_OR_RETURN(KeyGroupHash hash, KeyGroupHash::Make(key, max_parallelism));
  if (buckets < 1 || buckets > max_parallelism) {
    return Status::Invalid(std::to_string(buckets) + " buckets of " +
                           std::to_string(max_parallelism) +
                           " key groups: take at least one, and no more than there are groups");
  }
  return KeySplitter(std::move(hash), buckets);
}

Result<RowOrder> KeySplitter::ByBucket(const BatchView& batch) const {
  FLINT_ASSIGN_OR_RETURN(SelectedColumns columns, encoder_.schema().Select(batch));
  std::vector<uint16_t> groups(static_cast<size_t>(batch.num_rows));
  FLINT_RETURN_IF_ERROR(hash_.GroupsOf(columns.views, 0, batch.num_rows, groups.data()));
  std::vector<uint32_t> buckets(groups.size());
  std::transform(groups.begin(), groups.end(), buckets.begin(), [&](uint16_t group) {
    return BucketOf(group, buckets_, hash_.max_parallelism());
  });
  return OrderByPart(buckets, buckets_);
}

Result<RowOrder> KeySplitter::ByKey(const BatchView& batch) const {
  EncodedKeys keys;
  FLINT_RETURN_IF_ERROR(encoder_.Append(batch, &keys));
  std::vector<std::string_view> views(static_cast<size_t>(keys.size()));
  for (int64_t row = 0; row < keys.size(); ++row) views[static_cast<size_t>(row)] = keys[row];
  KeyNumbers numbers = NumberKeys(views);
  return OrderByPart(numbers.of_row, numbers.count);
}

}  // namespace flint
