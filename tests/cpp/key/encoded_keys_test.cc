#include "key/encoded_keys.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/arrow_column.h"

namespace flint {
namespace {

TEST(EncodedKeys, HoldKeysOfOneSizeAndOfMany) {
  EncodedKeys keys;
  std::memcpy(keys.Extend(2, 3), "abcdef", 6);
  std::vector<uint32_t> sizes{0, 2, 1};
  std::memcpy(keys.Extend(sizes), "ghi", 3);
  ASSERT_EQ(keys.size(), 5);
  EXPECT_EQ(keys[1], "def");
  EXPECT_EQ(keys[2], "");
  EXPECT_EQ(keys[3], "gh");
  EXPECT_EQ(keys[4], "i");
  keys.Clear();
  EXPECT_EQ(keys.size(), 0);
}

TEST(EncodedKeys, LeaveAsABinaryArray) {
  EncodedKeys keys;
  std::memcpy(keys.Extend(2, 1), "xy", 2);
  ArrowArray array;
  keys.MoveTo(&array);
  OwnedArray owned(&array);
  ColumnView view = *ColumnView::Make(DataType(TypeId::kBinary), *owned);
  ASSERT_EQ(view.size(), 2);
  EXPECT_EQ(view.Bytes(1), "y");
  EXPECT_EQ(keys.size(), 0);
}

// The large key's bytes are never touched, so they take up no memory.
TEST(EncodedKeys, PastTwoGigabytesOffsetsAre64Bit) {
  EncodedKeys keys;
  std::memcpy(keys.Extend(1, 2), "ab", 2);
  EXPECT_FALSE(keys.large());
  char* huge = keys.Extend(1, int64_t{1} << 31);
  std::memcpy(huge, "cd", 2);
  std::vector<uint32_t> sizes{3};
  std::memcpy(keys.Extend(sizes), "efg", 3);
  EXPECT_TRUE(keys.large());
  EXPECT_EQ(keys[0], "ab");
  EXPECT_EQ(keys[1].size(), size_t{1} << 31);
  EXPECT_EQ(keys[1].substr(0, 2), "cd");
  EXPECT_EQ(keys[2], "efg");
}

}  // namespace
}  // namespace flint
