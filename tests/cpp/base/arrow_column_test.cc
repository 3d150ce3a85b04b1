#include "base/arrow_column.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace flint {
namespace {

// Arrays laid out by hand, as any producer may: with offsets, bitmaps, dictionaries and views.
struct HandMade {
  ArrowArray array{};
  std::vector<const void*> buffers;
  std::vector<ArrowArray*> children;

  HandMade(int64_t length, int64_t offset, int64_t null_count, std::vector<const void*> with,
           std::vector<ArrowArray*> inner = {})
      : buffers(std::move(with)), children(std::move(inner)) {
    array.length = length;
    array.offset = offset;
    array.null_count = null_count;
    array.n_buffers = static_cast<int64_t>(buffers.size());
    array.buffers = buffers.data();
    array.n_children = static_cast<int64_t>(children.size());
    array.children = children.data();
  }
};

DataType Nested(TypeId id, std::vector<Field> children, int32_t size = 0) {
  DataType type(id);
  type.children = std::move(children);
  type.size = size;
  return type;
}

const int32_t kNumbers[] = {0, 10, 20, 30, 40, 50};
const uint8_t kOddValid[] = {0b101010};

TEST(AColumnView, BeginsAtTheArraysOffset) {
  HandMade made(3, 2, 2, {kOddValid, kNumbers});
  ColumnView view = *ColumnView::Make(DataType(TypeId::kInt32), made.array);
  EXPECT_EQ(view.size(), 3);
  EXPECT_EQ(view.Values<int32_t>()[0], 20);
  EXPECT_TRUE(view.IsNull(0));
  EXPECT_FALSE(view.IsNull(1));
  EXPECT_EQ(view.Slot(1), reinterpret_cast<const char*>(&kNumbers[3]));
}

TEST(AColumnView, TakesAnUnknownNullCountForNullsAndZeroForNone) {
  HandMade unknown(6, 0, -1, {kOddValid, kNumbers});
  EXPECT_TRUE(ColumnView::Make(DataType(TypeId::kInt32), unknown.array)->IsNull(0));
  HandMade none(6, 0, 0, {kOddValid, kNumbers});
  EXPECT_FALSE(ColumnView::Make(DataType(TypeId::kInt32), none.array)->MayHaveNulls());
  HandMade no_bitmap(6, 0, -1, {nullptr, kNumbers});
  EXPECT_FALSE(ColumnView::Make(DataType(TypeId::kInt32), no_bitmap.array)->MayHaveNulls());
}

TEST(AColumnView, SlicesAreViewsOfTheSameRows) {
  HandMade made(5, 1, 3, {kOddValid, kNumbers});
  ColumnView slice = ColumnView::Make(DataType(TypeId::kInt32), made.array)->Slice(2, 2);
  EXPECT_EQ(slice.size(), 2);
  EXPECT_EQ(slice.Values<int32_t>()[0], 30);
  EXPECT_FALSE(slice.IsNull(0));
  EXPECT_TRUE(slice.IsNull(1));
}

TEST(AColumnView, ReadsBytesByOffsetsOfBothWidths) {
  const int32_t offsets[] = {0, 1, 1, 4};
  const int64_t wide[] = {0, 1, 1, 4};
  HandMade small(2, 1, 0, {nullptr, offsets, "abcd"});
  HandMade large(2, 1, 0, {nullptr, wide, "abcd"});
  for (TypeId id : {TypeId::kString, TypeId::kBinary}) {
    EXPECT_EQ(ColumnView::Make(DataType(id), small.array)->Bytes(1), "bcd");
  }
  for (TypeId id : {TypeId::kLargeString, TypeId::kLargeBinary}) {
    EXPECT_EQ(ColumnView::Make(DataType(id), large.array)->Bytes(0), "");
    EXPECT_EQ(ColumnView::Make(DataType(id), large.array)->Bytes(1), "bcd");
  }
}

TEST(AColumnView, ReadsViewsInlinedAndApart) {
  struct View {
    int32_t size;
    char prefix[4];
    int32_t buffer;
    int32_t offset;
  };
  View views[2] = {{5, {'s', 'h', 'o', 'r'}, 't', 0}, {14, {}, 1, 3}};
  const int64_t sizes[] = {0, 20};
  HandMade made(2, 0, 0, {nullptr, views, "", "___a text apart____", sizes});
  ColumnView view = *ColumnView::Make(DataType(TypeId::kStringView), made.array);
  EXPECT_EQ(view.Bytes(0), "short");
  EXPECT_EQ(view.Bytes(1), "a text apart__");
}

TEST(AColumnView, RefusesAViewIntoABufferThatIsMissing) {
  ArrowView view{};
  view.size = 14;
  const int64_t sizes[] = {20};
  HandMade made(1, 0, 0, {nullptr, &view, nullptr, sizes});
  Result<ColumnView> column = ColumnView::Make(DataType(TypeId::kBinaryView), made.array);
  ASSERT_FALSE(column.ok());
  EXPECT_EQ(column.status().kind(), ErrorKind::kInvalid);
}

TEST(AColumnView, RefusesNullsThatAreCountedAndNotSaid) {
  HandMade made(6, 0, 3, {nullptr, kNumbers});
  Result<ColumnView> column = ColumnView::Make(DataType(TypeId::kInt32), made.array);
  ASSERT_FALSE(column.ok());
  EXPECT_EQ(column.status().kind(), ErrorKind::kInvalid);
}

TEST(AColumnView, ReadsADictionaryByIndexAndBothKindsOfNull) {
  const int8_t indices[] = {9, 1, 0, 1, 2};
  const uint8_t index_valid[] = {0b11011};
  const uint8_t value_valid[] = {0b011};
  const int32_t offsets[] = {0, 1, 3, 3};
  HandMade values(3, 0, 1, {value_valid, offsets, "xyy"});
  HandMade made(4, 1, 1, {index_valid, indices});
  made.array.dictionary = &values.array;
  DataType type = Nested(TypeId::kDictionary, {{"index", DataType(TypeId::kInt8), true},
                                               {"value", DataType(TypeId::kString), true}});
  ColumnView view = *ColumnView::Make(type, made.array);
  EXPECT_EQ(view.Bytes(0), "yy");
  EXPECT_TRUE(view.IsNull(1));  // the index is null
  EXPECT_EQ(view.Bytes(2), "yy");
  EXPECT_TRUE(view.IsNull(3));  // what it names is
}

TEST(AColumnView, OfASlicedStructSlicesItsFields) {
  HandMade field(5, 1, 0, {nullptr, kNumbers});
  HandMade made(2, 2, 0, {nullptr}, {&field.array});
  DataType type = Nested(TypeId::kStruct, {{"a", DataType(TypeId::kInt32), true}});
  ColumnView view = *ColumnView::Make(type, made.array);
  EXPECT_EQ(view.child(0).size(), 2);
  EXPECT_EQ(view.child(0).Values<int32_t>()[0], 30);
  EXPECT_EQ(view.Slice(1, 1).child(0).Values<int32_t>()[0], 40);
}

TEST(AColumnView, GivesListsAsRangesOfTheirElements) {
  const int32_t offsets[] = {0, 2, 2, 5};
  const int64_t wide[] = {0, 2, 2, 5};
  HandMade elements(5, 1, 0, {nullptr, kNumbers});
  HandMade list(2, 1, 0, {nullptr, offsets}, {&elements.array});
  HandMade large(2, 1, 0, {nullptr, wide}, {&elements.array});
  HandMade fixed(1, 1, 0, {nullptr}, {&elements.array});
  std::vector<Field> item = {{"item", DataType(TypeId::kInt32), true}};
  using Range = std::pair<int64_t, int64_t>;
  ColumnView view = *ColumnView::Make(Nested(TypeId::kList, item), list.array);
  EXPECT_EQ(view.ListRange(0), Range(2, 2));
  EXPECT_EQ(view.ListRange(1), Range(2, 5));
  EXPECT_EQ(view.child(0).Values<int32_t>()[2], 30);
  EXPECT_EQ(ColumnView::Make(Nested(TypeId::kLargeList, item), large.array)->ListRange(1),
            Range(2, 5));
  EXPECT_EQ(ColumnView::Make(Nested(TypeId::kFixedList, item, 2), fixed.array)->ListRange(0),
            Range(2, 4));
}

TEST(AColumnView, RefusesAnArrayThatIsNotOfItsType) {
  HandMade made(1, 0, 0, {nullptr, kNumbers});
  auto refused = [&](const DataType& type) {
    Result<ColumnView> view = ColumnView::Make(type, made.array);
    return !view.ok() && view.status().kind() == ErrorKind::kInvalid;
  };
  EXPECT_TRUE(refused(DataType(TypeId::kString)));
  EXPECT_TRUE(refused(Nested(TypeId::kStruct, {{"a", DataType(TypeId::kInt32), true}})));
  EXPECT_TRUE(refused(Nested(TypeId::kDictionary, {{"index", DataType(TypeId::kInt8), true},
                                                   {"value", DataType(TypeId::kString), true}})));
}

}  // namespace
}  // namespace flint
