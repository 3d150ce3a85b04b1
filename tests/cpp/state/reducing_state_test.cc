#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

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

// What RocksDB's operator makes of a value and its operands; none where it refuses.
std::optional<std::string> Merged(const std::optional<std::string>& value,
                                  const std::vector<std::string>& operands) {
  std::optional<rocksdb::Slice> existing;
  if (value) existing = *value;
  std::vector<rocksdb::Slice> slices(operands.begin(), operands.end());
  rocksdb::MergeOperator::MergeOperationInput in("key", existing ? &*existing : nullptr, slices,
                                                 nullptr);
  std::string made;
  rocksdb::Slice kept;
  rocksdb::MergeOperator::MergeOperationOutput out(made, kept);
  if (NewReduceOperator()->FullMergeV2(in, &out)) return made;
  EXPECT_EQ(out.op_failure_scope, rocksdb::MergeOperator::OpFailureScope::kMustMerge);
  return std::nullopt;
}

TEST(TheReduceOperator, RefusesWhatIsNoOperandAndWhatDoesNotFit) {
  const std::string one = Reducer::Make("sum", DataType(TypeId::kInt64))->Operand(Row<int64_t>(1));
  const std::string small = Reducer::Make("sum", DataType(TypeId::kInt32))->Operand(Row(1));
  const std::string two = std::string(1, '\0') + Row<int64_t>(2);
  EXPECT_EQ(Merged(two, {one, one}), std::string(1, '\0') + Row<int64_t>(4));
  EXPECT_EQ(Merged(std::nullopt, {one}), one);
  for (size_t size = 0; size < one.size(); ++size) {
    EXPECT_FALSE(Merged(two, {one.substr(0, size)}));
    EXPECT_FALSE(Merged(std::nullopt, {one, one.substr(0, size)}));
    if (size < two.size()) {
      EXPECT_FALSE(Merged(two.substr(0, size), {one}));
    }
  }
  EXPECT_FALSE(Merged(two, {small}));
  EXPECT_FALSE(Merged(std::nullopt, {one, small}));
}

TEST(TheReduceOperator, AnswersWhateverItIsGiven) {
  std::mt19937_64 numbers(std::random_device{}());
  auto any = [&] {
    std::string bytes(numbers() % 20, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(numbers() % 3 == 0 ? numbers() : numbers() % 12);
    return bytes;
  };
  for (int round = 0; round < 20000; ++round) {
    std::string older = any(), newer = any(), merged;
    Merged(round % 2 == 0 ? std::optional(older) : std::nullopt, {any(), newer});
    NewReduceOperator()->PartialMerge("key", older, newer, &merged, nullptr);
    MergeInto(&older, Reducer::Make("sum", DataType(TypeId::kInt64))->Operand(Row<int64_t>(1)));
  }
}

TEST_F(ReducingTest, AnOperandThatIsNoneFailsReadsOfItsKeyAndNoFlush) {
  Open();
  PointTable* sum = OpenReducing("sum");
  Add(sum, "a", Row<int64_t>(5));
  Add(sum, "b", Row<int64_t>(6));
  ASSERT_TRUE(backend_->Spill().ok());
  auto* database = backend_->context().database.get();
  SetKey("a");
  std::string row_key;
  AppendGroup(backend_->context().key.group, 1, &row_key);
  row_key += backend_->context().key.bytes;
  rocksdb::WriteBatch batch;
  ASSERT_TRUE(batch.Merge(sum->entry().family, row_key, "\x02\x01").ok());
  ASSERT_TRUE(database->Write(&batch).ok());
  ASSERT_TRUE(database->Flush().ok());
  ASSERT_TRUE(database->Compact(sum->entry().family).ok());
  std::string_view row;
  SetKey("a");
  EXPECT_EQ(sum->Read(&row).status().kind(), ErrorKind::kCorruption);
  EXPECT_EQ(Get(sum, "b"), Row<int64_t>(6));
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
