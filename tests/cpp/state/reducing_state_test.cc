#include <cstring>
#include <limits>

#include "state/backend_fixture.h"
#include "state/reducer.h"

namespace flint {
namespace {

template <class T>
std::string Row(T value) {
  std::string row(1 + sizeof value, '\0');
  std::memcpy(row.data() + 1, &value, sizeof value);
  return row;
}

class ReducingTest : public BackendTest {
 protected:
  PointTable* OpenReducing(const std::string& function, TypeId type = TypeId::kInt64) {
    StateDescriptor state = Describe("r " + function, StateKind::kReducing, type);
    state.function = function;
    auto table = backend_->OpenState(state, {});
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? dynamic_cast<PointTable*>(*table) : nullptr;
  }
  void Add(PointTable* table, const std::string& key, const std::string& row) {
    const StateDescriptor& state = table->descriptor();
    auto reducer = Reducer::Make(state.function, state.value[0].type);
    ASSERT_TRUE(reducer.ok());
    SetKey(key);
    ASSERT_TRUE(table->MergeBlind(reducer->Operand(row)).ok());
  }
};

TEST_F(ReducingTest, AnAddReadsNothingAndSumsWrap) {
  Open();
  PointTable* sum = OpenReducing("sum");
  for (int i = 0; i < 10; ++i) {
    Add(sum, "a", Row<int64_t>(i));
    ASSERT_TRUE(backend_->Spill().ok());
  }
  EXPECT_EQ(sum->metrics().store_reads, 0u);
  EXPECT_EQ(Get(sum, "a"), Row<int64_t>(45));
  Add(sum, "b", Row(std::numeric_limits<int64_t>::max()));
  Add(sum, "b", Row<int64_t>(1));
  EXPECT_EQ(Get(sum, "b"), Row(std::numeric_limits<int64_t>::min()));
}

TEST_F(ReducingTest, WhatAMergeFindsInTheStoreIsCountedAsCached) {
  Open();
  PointTable* first = OpenReducing("first", TypeId::kString);
  const std::string large = Row<uint32_t>(5000) + std::string(5000, 'x');
  Add(first, "a", large);
  ASSERT_TRUE(backend_->Spill().ok());
  EXPECT_EQ(backend_->context().cached_bytes, 0u);
  Add(first, "a", Row<uint32_t>(0));
  EXPECT_EQ(Get(first, "a"), large);
  EXPECT_GT(backend_->context().cached_bytes, large.size());
  Clear(first, "a");
  EXPECT_LT(backend_->context().cached_bytes, large.size());
}

TEST_F(ReducingTest, AnAddToWhatWasReadFromMergesAloneCounts) {
  Open();
  for (const char* function : {"sum", "max"}) {
    PointTable* state = OpenReducing(function);
    Add(state, "a", Row<int64_t>(-1));  // RocksDB has an operand, and no value beneath it
    ASSERT_TRUE(backend_->Spill().ok());
    EXPECT_EQ(Get(state, "a"), Row<int64_t>(-1));
    Add(state, "a", Row<int64_t>(1));
    const int64_t expected = std::string_view(function) == "sum" ? 0 : 1;
    EXPECT_EQ(Get(state, "a"), Row(expected));
    ASSERT_TRUE(backend_->Spill().ok());
    EXPECT_EQ(Get(state, "a"), Row(expected));
  }
}

TEST_F(ReducingTest, MergesSurviveFlushesCompactionsAndReplay) {
  options_.changelog = true;
  Open();
  PointTable* most = OpenReducing("max");
  for (uint8_t number = 1; number <= 6; ++number) {
    Add(most, "a", Row<int64_t>(number == 4 ? 100 : number));
    Add(most, "only once" + std::to_string(number), Row<int64_t>(number));
    ASSERT_TRUE(Commit(number));
    ASSERT_TRUE(backend_->context().database->Flush().ok());
  }
  ASSERT_TRUE(backend_->context().database->Compact(most->entry().family).ok());
  most->Forget();
  EXPECT_EQ(Get(most, "a"), Row<int64_t>(100));
  Open("copy");
  for (uint8_t number = 1; number <= 6; ++number) ASSERT_TRUE(Replay(number).ok());
  most = OpenReducing("max");
  EXPECT_EQ(Get(most, "a"), Row<int64_t>(100));
  EXPECT_EQ(Get(most, "only once3"), Row<int64_t>(3));
}

TEST_F(ReducingTest, AClearBetweenTwoAddsStartsAnew) {
  Open();
  PointTable* sum = OpenReducing("sum");
  Add(sum, "a", Row<int64_t>(5));
  ASSERT_TRUE(backend_->Spill().ok());
  Clear(sum, "a");
  Add(sum, "a", Row<int64_t>(1));
  EXPECT_EQ(Get(sum, "a"), Row<int64_t>(1));
  ASSERT_TRUE(backend_->Spill().ok());
  EXPECT_EQ(Get(sum, "a"), Row<int64_t>(1));
}

TEST_F(ReducingTest, AFunctionThatATypeDoesNotHaveIsRefused) {
  EXPECT_EQ(Reducer::Make("bit_or", DataType(TypeId::kFloat64)).status().kind(),
            ErrorKind::kInvalid);
  EXPECT_EQ(Reducer::Make("sum", DataType(TypeId::kString)).status().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(Reducer::Make("median", DataType(TypeId::kInt64)).status().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(Reducer::Make("last", DataType(TypeId::kString)).ok());
}

}  // namespace
}  // namespace flint
