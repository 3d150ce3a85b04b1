#include "operators/row_order.h"

#include <gtest/gtest.h>

#include <string>

namespace flint {
namespace {

using Rows = std::vector<int64_t>;

TEST(RowOrder, RowsOfAPartStandTogetherAndKeepTheirOrder) {
  const std::vector<uint32_t> parts = {2, 0, 2, 1, 0};
  RowOrder ordered = OrderByPart(parts, 4);
  EXPECT_EQ(ordered.order, (Rows{1, 4, 3, 0, 2}));
  EXPECT_EQ(ordered.starts, (Rows{0, 2, 3, 5, 5}));
}

TEST(RowOrder, NoRowsGiveEmptyParts) {
  RowOrder ordered = OrderByPart({}, 2);
  EXPECT_TRUE(ordered.order.empty());
  EXPECT_EQ(ordered.starts, (Rows{0, 0, 0}));
}

TEST(KeyNumbers, EqualKeysGetTheNumberOfTheirFirst) {
  const std::vector<std::string_view> keys = {"b", "a", "b", "", "a", ""};
  KeyNumbers numbers = NumberKeys(keys);
  EXPECT_EQ(numbers.of_row, (std::vector<uint32_t>{0, 1, 0, 2, 1, 2}));
  EXPECT_EQ(numbers.count, 3u);
}

TEST(KeyNumbers, ManyKeysAreToldApart) {
  std::vector<std::string> texts;
  for (int i = 0; i < 10000; ++i) texts.push_back("key" + std::to_string(i % 5000));
  std::vector<std::string_view> keys(texts.begin(), texts.end());
  KeyNumbers numbers = NumberKeys(keys);
  EXPECT_EQ(numbers.count, 5000u);
  for (uint32_t i = 0; i < 10000; ++i) ASSERT_EQ(numbers.of_row[i], i % 5000);
}

TEST(Buckets, AreRangesThatCoverAllGroupsOnce) {
  for (uint32_t max_parallelism : {1u, 2u, 127u, 128u, 1000u}) {
    for (uint32_t buckets = 1; buckets <= max_parallelism && buckets < 40; ++buckets) {
      for (uint32_t group = 0; group < max_parallelism; ++group) {
        uint32_t bucket = BucketOf(group, buckets, max_parallelism);
        ASSERT_LT(bucket, buckets);
        ASSERT_LE(FirstGroup(bucket, buckets, max_parallelism), group);
        ASSERT_LT(group, FirstGroup(bucket + 1, buckets, max_parallelism));
      }
    }
  }
}

}  // namespace
}  // namespace flint
