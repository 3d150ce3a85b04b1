#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "scan/range_scan.h"
#include "store/store.h"

// Scans that are large enough for helpers to read ahead of them, against the same without.

namespace flint {
namespace {

constexpr int64_t kRows = 120'000;

Field Number(const char* name) { return {name, DataType(TypeId::kInt64), false}; }

// The keys of a scan's batches, one vector each.
using Batches = std::vector<std::vector<int64_t>>;

std::vector<int64_t> Joined(const Batches& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

class AScanThatIsReadAhead : public testing::Test {
 protected:
  AScanThatIsReadAhead() {
    std::string pattern = testing::TempDir() + "flint_scan_XXXXXX";
    home_ = ::mkdtemp(pattern.data());
    Open(4);
    Put(0, kRows);
    EXPECT_TRUE(store_->database().Compact(table_->family()).ok());
  }
  ~AScanThatIsReadAhead() override {
    table_.reset();
    store_.reset();
    std::filesystem::remove_all(home_);
  }

  void Open(int threads, uint64_t memory = 32 << 20) {
    table_.reset();
    store_.reset();
    StoreOptions options;
    options.memory_bytes = memory;
    options.durability = Durability::kNone;
    options.threads = threads;
    store_ = *Store::Open(home_ + "/store", options);
    TableDefinition definition;
    definition.name = "rows";
    definition.key = {{Number("k")}};
    definition.value = {{Number("v")}};
    table_ = *store_->OpenTable(definition);
  }

  void Put(int64_t from, int64_t to) {
    const Schema schema{{Number("k"), Number("v")}};
    BatchBuilder builder(schema);
    for (int64_t i = from; i < to; ++i) {
      builder.column(0).Append<int64_t>(i * 1000);
      builder.column(1).Append<int64_t>(-i);
    }
    OwnedArray array = builder.Finish(to - from);
    EXPECT_TRUE(table_->Write(WriteKind::kPut, *BatchView::Make(schema, *array)).ok());
  }

  static std::string Key(int64_t number) {
    const uint64_t ordered = __builtin_bswap64(static_cast<uint64_t>(number) ^ (1ull << 63));
    return {reinterpret_cast<const char*>(&ordered), sizeof ordered};
  }

  static ScanOptions Options() {
    ScanOptions options;
    options.batch.rows = 16384;
    return options;
  }

  std::unique_ptr<RangeScan> Scan(ScanOptions options = Options()) {
    auto scan = RangeScan::Make(table_, std::move(options));
    EXPECT_TRUE(scan.ok()) << scan.status().message();
    return *std::move(scan);
  }

  static std::optional<std::vector<int64_t>> NextKeys(RangeScan& scan) {
    auto batch = scan.Next();
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    if (!batch.ok() || !*batch) return std::nullopt;
    const ArrowArray& array = ***batch;
    const auto* keys = static_cast<const int64_t*>(array.children[0]->buffers[1]);
    const auto* values = static_cast<const int64_t*>(array.children[1]->buffers[1]);
    for (int64_t i = 0; i < array.length; ++i) EXPECT_EQ(keys[i], -1000 * values[i]);
    return std::vector<int64_t>(keys, keys + array.length);
  }

  Batches ReadAll(ScanOptions options = Options()) {
    auto scan = Scan(std::move(options));
    Batches batches;
    while (auto keys = NextKeys(*scan)) batches.push_back(*std::move(keys));
    return batches;
  }

  static std::vector<int64_t> Numbers(int64_t from, int64_t to) {
    std::vector<int64_t> numbers;
    for (int64_t i = from; i < to; ++i) numbers.push_back(i * 1000);
    return numbers;
  }

  std::string home_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Table> table_;
};

TEST_F(AScanThatIsReadAhead, OfMoreThanTheCacheHoldsLeavesTheCacheAsItWas) {
  constexpr uint64_t kMemory = 4 << 20;
  Put(kRows, 10 * kRows);
  ASSERT_TRUE(store_->database().Compact(table_->family()).ok());
  Open(2, kMemory);
  const Database& database = store_->database();
  ASSERT_GT(database.ApproximateBytes(table_->family(), Key(0), Key(10'000 * kRows)), kMemory);
  EXPECT_EQ(ReadAll().back().back(), 1000 * (10 * kRows - 1));
  EXPECT_LT(database.memory().used_bytes(), kMemory / 2);
}

TEST_F(AScanThatIsReadAhead, GivesAllRowsInOrderInSmallerBatches) {
  const Batches batches = ReadAll();
  EXPECT_EQ(Joined(batches), Numbers(0, kRows));
  ASSERT_GT(batches.size(), 3u);
  EXPECT_LT(batches[1].size(), 16384u);  // half of it or so
  EXPECT_GT(batches[1].size(), 1000u);
}

TEST_F(AScanThatIsReadAhead, IsReadByTheCallerAloneWhereTheStoreHasOneThread) {
  Open(1);
  const Batches batches = ReadAll();
  EXPECT_EQ(Joined(batches), Numbers(0, kRows));
  for (size_t i = 0; i + 1 < batches.size(); ++i) EXPECT_EQ(batches[i].size(), 16384u);
}

TEST_F(AScanThatIsReadAhead, RunsBackwardsToo) {
  ScanOptions options = Options();
  options.reverse = true;
  std::vector<int64_t> wanted = Numbers(0, kRows);
  std::reverse(wanted.begin(), wanted.end());
  EXPECT_EQ(Joined(ReadAll(options)), wanted);
}

TEST_F(AScanThatIsReadAhead, KeepsWithinItsBounds) {
  for (bool reverse : {false, true}) {
    ScanOptions options = Options();
    options.reverse = reverse;
    options.range = {Key(1500), Key(99'999'001)};
    std::vector<int64_t> keys = Joined(ReadAll(options));
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, Numbers(2, 100'000));
  }
}

TEST_F(AScanThatIsReadAhead, EndsAtItsLimitWhereverThatIs) {
  for (bool reverse : {false, true}) {
    for (int64_t limit : {65'537, 70'001, 99'999, 119'999, 120'000, 500'000}) {
      ScanOptions options = Options();
      options.reverse = reverse;
      options.limit = limit;
      std::vector<int64_t> keys = Joined(ReadAll(options));
      std::sort(keys.begin(), keys.end());
      const int64_t count = std::min(limit, kRows);
      EXPECT_EQ(keys, reverse ? Numbers(kRows - count, kRows) : Numbers(0, count)) << limit;
    }
  }
}

TEST_F(AScanThatIsReadAhead, SkipsWhatWasDeletedAndCountsRowsWithoutColumns) {
  ASSERT_TRUE(table_->DeleteRange({Key(30'000'000), Key(90'000'000)}).ok());
  std::vector<int64_t> wanted = Numbers(0, 30'000), rest = Numbers(90'000, kRows);
  wanted.insert(wanted.end(), rest.begin(), rest.end());
  EXPECT_EQ(Joined(ReadAll()), wanted);
  ScanOptions options = Options();
  options.columns.emplace();
  auto scan = Scan(options);
  int64_t rows = 0;
  while (auto batch = *scan->Next()) rows += (*batch)->length;
  EXPECT_EQ(rows, static_cast<int64_t>(wanted.size()));
}

TEST_F(AScanThatIsReadAhead, ReadsWhatIsStillInMemory) {
  Put(kRows, kRows + 80'000);
  EXPECT_EQ(Joined(ReadAll()), Numbers(0, kRows + 80'000));
}

TEST_F(AScanThatIsReadAhead, SeesTheTableAsItWasWhateverIsWrittenMeanwhile) {
  auto scan = Scan();
  Batches batches = {*NextKeys(*scan)};
  Put(kRows, kRows + 1000);
  batches.push_back(*NextKeys(*scan));
  ASSERT_TRUE(table_->DeleteRange({}).ok());
  ASSERT_TRUE(store_->database().Compact(table_->family()).ok());
  while (auto keys = NextKeys(*scan)) batches.push_back(*std::move(keys));
  EXPECT_EQ(Joined(batches), Numbers(0, kRows));
  EXPECT_TRUE(ReadAll().empty());
}

TEST_F(AScanThatIsReadAhead, MayBeDroppedHalfRead) {
  for (int batches = 0; batches < 6; ++batches) {
    auto scan = Scan();
    for (int i = 0; i < batches; ++i) EXPECT_TRUE(NextKeys(*scan));
  }
  EXPECT_EQ(Joined(ReadAll()), Numbers(0, kRows));
}

TEST_F(AScanThatIsReadAhead, SaysThatTheStoreWasClosedHalfway) {
  std::vector<std::unique_ptr<RangeScan>> scans;
  for (int batches = 0; batches < 4; ++batches) {
    scans.push_back(Scan());
    for (int i = 0; i < batches; ++i) EXPECT_TRUE(NextKeys(*scans.back()));
  }
  EXPECT_TRUE(store_->Close().ok());
  for (auto& scan : scans) {
    EXPECT_EQ(scan->Next().status().kind(), ErrorKind::kClosed);
    EXPECT_EQ(scan->Next().status().kind(), ErrorKind::kClosed);
  }
}

TEST_F(AScanThatIsReadAhead, SharesItsHelpersWithOthersAndWithReadsOfManyKeys) {
  const Schema schema{{Number("k")}};
  BatchBuilder builder(schema);
  for (int64_t i = 0; i < 10'000; ++i) builder.column(0).Append<int64_t>(i * 7919 % kRows * 1000);
  const OwnedArray keys = builder.Finish(10'000);
  const BatchView view = *BatchView::Make(schema, *keys);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Joined(ReadAll()), Numbers(0, kRows)); });
    threads.emplace_back([&] {
      auto rows = table_->GetMany(view, {});
      ASSERT_TRUE(rows.ok()) << rows.status().message();
      const auto* values = static_cast<const int64_t*>((*rows)->children[1]->buffers[1]);
      for (int64_t k = 0; k < 10'000; ++k) ASSERT_EQ(values[k], -(k * 7919 % kRows));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flint
