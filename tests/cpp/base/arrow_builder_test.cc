#include "base/arrow_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_column.h"

namespace flint {
namespace {

// What a builder made, with a view of it.
struct Built {
  DataType type;
  OwnedArray array;
  ColumnView view;

  explicit Built(ColumnBuilder* builder)
      : type(builder->type()), array(Finished(builder)), view(*ColumnView::Make(type, *array)) {}
  static OwnedArray Finished(ColumnBuilder* builder) {
    ArrowArray made;
    builder->Finish(&made);
    return OwnedArray(&made);
  }
};

DataType ListOf(TypeId id, TypeId element, int32_t size = 0) {
  DataType type(id);
  type.size = size;
  type.children.push_back({"item", DataType(element), true});
  return type;
}

TEST(AColumnBuilder, KeepsEverySlotOfEveryFixedWidth) {
  for (TypeId id : {TypeId::kInt8, TypeId::kUInt16, TypeId::kFloat32, TypeId::kInt64,
                    TypeId::kDecimal128, TypeId::kDecimal256, TypeId::kFixedBinary,
                    TypeId::kTimestamp, TypeId::kDate32, TypeId::kTime64, TypeId::kFloat16}) {
    DataType type(id);
    type.size = id == TypeId::kFixedBinary ? 5 : 0;
    ColumnBuilder builder(type);
    std::string slot(static_cast<size_t>(type.FixedWidth()), 'x');
    for (int i = 0; i < 300; ++i) {
      slot[0] = static_cast<char>(i);
      i % 7 == 3 ? builder.AppendNull() : builder.AppendSlot(slot.data());
    }
    Built built(&builder);
    ASSERT_EQ(built.view.size(), 300);
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(built.view.IsNull(i), i % 7 == 3);
      slot[0] = i % 7 == 3 ? '\0' : static_cast<char>(i);
      std::string wanted = i % 7 == 3 ? std::string(slot.size(), '\0') : slot;
      ASSERT_EQ(std::string(built.view.Slot(i), slot.size()), wanted) << type.ToString();
    }
    EXPECT_EQ(built.array->null_count, 43);
  }
}

TEST(AColumnBuilder, TakesManyBytesAtOnceAsOneByOne) {
  const std::string long_one(1000, 'l');
  const std::vector<std::string_view> values = {"a", "", long_one, "bc", ""};
  for (TypeId id : {TypeId::kString, TypeId::kLargeString, TypeId::kBinary}) {
    for (bool null_before : {false, true}) {
      ColumnBuilder builder{DataType(id)};
      builder.AppendBytes("first");
      if (null_before) builder.AppendNull();
      builder.AppendAllBytes(values);
      builder.AppendAllBytes({});
      builder.AppendNull();
      builder.AppendAllBytes({values.data(), 1});
      Built built(&builder);
      const int64_t from = null_before ? 2 : 1;
      ASSERT_EQ(built.view.size(), from + 7);
      EXPECT_EQ(built.view.Bytes(0), "first");
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_FALSE(built.view.IsNull(from + static_cast<int64_t>(i)));
        EXPECT_EQ(built.view.Bytes(from + static_cast<int64_t>(i)), values[i]);
      }
      EXPECT_TRUE(built.view.IsNull(from + 5));
      EXPECT_EQ(built.view.Bytes(from + 6), "a");
    }
  }
}

TEST(AColumnBuilder, MakesRoomForRowsAlikeWithoutAddingAny) {
  for (TypeId id : {TypeId::kString, TypeId::kLargeBinary, TypeId::kInt64, TypeId::kBool}) {
    ColumnBuilder builder{DataType(id)};
    builder.ReserveAlike(1000, 1 << 20);  // of nothing that is known yet
    auto append = [&](int64_t i) {
      if (id == TypeId::kInt64)
        builder.Append(i);
      else if (id == TypeId::kBool)
        builder.AppendBool(i % 2 == 0);
      else
        builder.AppendBytes(std::string(static_cast<size_t>(i % 50), 'x'));
    };
    for (int64_t i = 0; i < 100; ++i) append(i);
    builder.ReserveAlike(200, 1000);  // and fewer bytes than they will take
    EXPECT_EQ(builder.size(), 100);
    for (int64_t i = 100; i < 1000; ++i) append(i);
    Built built(&builder);
    ASSERT_EQ(built.view.size(), 1000);
    if (id == TypeId::kLargeBinary) {
      EXPECT_EQ(built.view.Bytes(999), std::string(49, 'x'));
    }
  }
}

TEST(AColumnBuilder, HasNoValidityBitmapBeforeTheFirstNull) {
  ColumnBuilder builder{DataType(TypeId::kInt32)};
  for (int32_t i = 0; i < 100; ++i) builder.Append(i);
  Built whole(&builder);
  EXPECT_EQ(whole.array->buffers[0], nullptr);
  EXPECT_FALSE(whole.view.MayHaveNulls());

  for (int32_t i = 0; i < 100; ++i) builder.Append(i);
  builder.AppendNull();
  builder.Append(int32_t{5});
  Built holed(&builder);
  for (int i = 0; i < 102; ++i) EXPECT_EQ(holed.view.IsNull(i), i == 100);
  EXPECT_EQ(holed.view.Values<int32_t>()[101], 5);
}

TEST(AColumnBuilder, ExtendsByWholeColumnsAmongNulls) {
  ColumnBuilder builder{DataType(TypeId::kInt64)};
  auto extend = [&](int64_t from, int64_t count) {
    auto* slots = reinterpret_cast<int64_t*>(builder.ExtendSlots(count));
    for (int64_t i = 0; i < count; ++i) slots[i] = from + i;
  };
  extend(0, 10);
  builder.AppendNull();
  extend(11, 20);
  extend(31, 0);
  Built built(&builder);
  ASSERT_EQ(built.view.size(), 31);
  for (int64_t i = 0; i < 31; ++i) {
    EXPECT_EQ(built.view.IsNull(i), i == 10);
    EXPECT_TRUE(i == 10 || built.view.Values<int64_t>()[i] == i);
  }
}

TEST(AColumnBuilder, KeepsBoolsAndTheirNulls) {
  ColumnBuilder builder{DataType(TypeId::kBool)};
  for (int i = 0; i < 50; ++i) i % 5 == 4 ? builder.AppendNull() : builder.AppendBool(i % 3 == 0);
  Built built(&builder);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(built.view.IsNull(i), i % 5 == 4);
    EXPECT_TRUE(i % 5 == 4 || built.view.Bool(i) == (i % 3 == 0));
  }
}

TEST(AColumnBuilder, KeepsBytesOfBothOffsetWidths) {
  for (TypeId id : {TypeId::kString, TypeId::kLargeString, TypeId::kBinary, TypeId::kLargeBinary}) {
    ColumnBuilder builder{DataType(id)};
    std::string long_text(1000, 'z');
    for (std::string_view text :
         {std::string_view("a"), std::string_view(""), std::string_view(long_text)}) {
      builder.AppendBytes(text);
      builder.AppendNull();
    }
    EXPECT_EQ(builder.data_bytes(), 1001u);
    Built built(&builder);
    EXPECT_EQ(built.view.Bytes(0), "a");
    EXPECT_EQ(built.view.Bytes(2), "");
    EXPECT_EQ(built.view.Bytes(4), long_text);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(built.view.IsNull(i), i % 2 == 1);
  }
}

TEST(AColumnBuilder, KeepsChildrenInStepWithNullStructs) {
  DataType type(TypeId::kStruct);
  type.children = {{"a", DataType(TypeId::kInt32), true}, {"b", DataType(TypeId::kString), true}};
  ColumnBuilder builder(type);
  builder.child(0).Append(int32_t{1});
  builder.child(1).AppendBytes("one");
  builder.FinishRow();
  builder.AppendNull();
  builder.child(0).AppendNull();
  builder.child(1).AppendBytes("three");
  builder.FinishRow();
  Built built(&builder);
  EXPECT_FALSE(built.view.IsNull(0));
  EXPECT_TRUE(built.view.IsNull(1));
  EXPECT_EQ(built.view.child(0).size(), 3);
  EXPECT_TRUE(built.view.child(0).IsNull(2));
  EXPECT_EQ(built.view.child(1).Bytes(2), "three");
}

TEST(AColumnBuilder, KeepsListsOfEachLayout) {
  for (TypeId id : {TypeId::kList, TypeId::kLargeList, TypeId::kFixedList}) {
    ColumnBuilder builder(ListOf(id, TypeId::kInt16, 2));
    builder.child(0).Append(int16_t{1});
    builder.child(0).AppendNull();
    builder.FinishRow();
    builder.AppendNull();
    builder.child(0).Append(int16_t{3});
    builder.child(0).Append(int16_t{4});
    builder.FinishRow();
    Built built(&builder);
    EXPECT_TRUE(built.view.IsNull(1));
    auto [first, last] = built.view.ListRange(2);
    ASSERT_EQ(last - first, 2);
    EXPECT_EQ(built.view.child(0).Values<int16_t>()[first], 3);
    EXPECT_TRUE(built.view.child(0).IsNull(built.view.ListRange(0).first + 1));
  }
}

TEST(AColumnBuilder, BeginsAnewAfterItFinished) {
  ColumnBuilder builder(ListOf(TypeId::kList, TypeId::kString));
  for (int round = 0; round < 3; ++round) {
    builder.child(0).AppendBytes("x");
    builder.FinishRow();
    Built built(&builder);
    EXPECT_EQ(built.view.size(), 1);
    EXPECT_EQ(built.view.ListRange(0), (std::pair<int64_t, int64_t>(0, 1)));
    EXPECT_EQ(builder.size(), 0);
  }
}

TEST(AColumnBuilder, OfNothingIsAnEmptyArray) {
  for (TypeId id : {TypeId::kNull, TypeId::kBool, TypeId::kInt64, TypeId::kString}) {
    ColumnBuilder builder{DataType(id)};
    Built built(&builder);
    EXPECT_EQ(built.view.size(), 0);
    for (int64_t k = 1; k < built.array->n_buffers; ++k)
      EXPECT_NE(built.array->buffers[k], nullptr);
  }
}

TEST(ABatchBuilder, FinishesItsColumnsTogether) {
  Schema schema{{{"a", DataType(TypeId::kInt64), false}, {"b", DataType(TypeId::kNull), true}}};
  BatchBuilder builder(schema);
  builder.column(0).Append(int64_t{7});
  builder.column(1).AppendNull();
  OwnedArray array = builder.Finish(1);
  BatchView batch = *BatchView::Make(schema, *array);
  EXPECT_EQ(batch.num_rows, 1);
  EXPECT_EQ(batch.columns[0].Values<int64_t>()[0], 7);
  EXPECT_TRUE(batch.columns[1].IsNull(0));
}

}  // namespace
}  // namespace flint
