#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "scan/range_scan.h"
#include "store/atomic_batch.h"
#include "store/checkpoint.h"
#include "store/ingest.h"
#include "store/store.h"

// Many threads on one store. Made for the thread sanitizer; what can be told without it is checked.

namespace flint {
namespace {

constexpr int64_t kKeys = 50;  // of each writer, written as one
constexpr int kWriters = 2;
constexpr int kWrites = 120;

Field Number(const char* name) { return {name, DataType(TypeId::kInt64), false}; }

struct Rows {
  OwnedArray array;
  BatchView view;
};

// kKeys keys from `first`; all of them hold `value`, where there is one.
Rows MakeRows(int64_t first, std::optional<int64_t> value) {
  Schema schema{{Number("k")}};
  if (value) schema.fields.push_back(Number("v"));
  BatchBuilder builder(schema);
  for (int64_t i = 0; i < kKeys; ++i) {
    builder.column(0).Append<int64_t>(first + i);
    if (value) builder.column(1).Append<int64_t>(*value);
  }
  Rows rows{builder.Finish(kKeys), {}};
  rows.view = *BatchView::Make(schema, *rows.array);
  return rows;
}

class ConcurrencyTest : public testing::Test {
 protected:
  ConcurrencyTest() {
    std::string pattern = testing::TempDir() + "flint_concurrency_XXXXXX";
    home_ = ::mkdtemp(pattern.data());
    StoreOptions options;
    options.memory_bytes = 8 << 20;
    store_ = *Store::Open(home_ + "/store", options);
    for (const char* name : {"a", "b"}) {
      TableDefinition definition;
      definition.name = name;
      definition.key = {{Number("k")}};
      definition.value = {{Number("v")}};
      tables_.push_back(*store_->OpenTable(definition));
    }
  }
  ~ConcurrencyTest() override {
    tables_.clear();
    store_.reset();
    std::filesystem::remove_all(home_);
  }

  Table& a() { return *tables_[0]; }
  Table& b() { return *tables_[1]; }

  // The same into both tables, as one.
  Status WriteBoth(int writer, int64_t value) {
    Rows rows = MakeRows(writer * 1000, value);
    AtomicBatch batch(store_->shared_database());
    FLINT_RETURN_IF_ERROR(batch.Write(a(), WriteKind::kPut, rows.view));
    FLINT_RETURN_IF_ERROR(batch.Write(b(), WriteKind::kPut, rows.view));
    return batch.Commit();
  }

  // All values that a scan sees at `snapshot`, in key order.
  Result<std::vector<int64_t>> Scan(size_t table, std::shared_ptr<const Snapshot> snapshot) {
    ScanOptions options;
    options.snapshot = std::move(snapshot);
    options.batch.rows = 7;
    FLINT_ASSIGN_OR_RETURN(auto scan, RangeScan::Make(tables_[table], std::move(options)));
    std::vector<int64_t> values;
    while (true) {
      FLINT_ASSIGN_OR_RETURN(auto batch, scan->Next());
      if (!batch) return values;
      const auto* column = static_cast<const int64_t*>((*batch)->children[1]->buffers[1]);
      values.insert(values.end(), column, column + (*batch)->length);
    }
  }

  Status ReadBoth() {
    FLINT_ASSIGN_OR_RETURN(auto snapshot, store_->database().NewSnapshot());
    FLINT_ASSIGN_OR_RETURN(auto seen, Scan(0, snapshot));
    FLINT_ASSIGN_OR_RETURN(auto other, Scan(1, snapshot));
    EXPECT_EQ(seen, other);
    EXPECT_EQ(seen.size() % kKeys, 0u);
    for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i - i % kKeys]);
    return {};
  }

  Status GetSome() {
    Rows keys = MakeRows(0, std::nullopt);
    FLINT_ASSIGN_OR_RETURN(OwnedArray rows, a().GetMany(keys.view, {}));
    EXPECT_EQ(rows->length, kKeys);
    rocksdb::PinnableSlice row;
    FLINT_ASSIGN_OR_RETURN(auto pin, store_->database().Enter());
    return a().GetRow(std::string(8, '\0'), &row).status();
  }

  // Runs each of `works` on a thread of its own until it fails with Closed.
  static void UntilClosed(const std::vector<std::function<Status()>>& works,
                          const std::function<void()>& close) {
    std::atomic<size_t> running{0};
    std::vector<std::thread> threads;
    for (const auto& work : works) {
      threads.emplace_back([&] {
        running.fetch_add(1);
        Status status;
        while (status.ok()) status = work();
        EXPECT_EQ(status.kind(), ErrorKind::kClosed) << status.message();
      });
    }
    while (running.load() < works.size()) std::this_thread::yield();
    close();
    for (std::thread& thread : threads) thread.join();
  }

  std::string home_;
  std::shared_ptr<Store> store_;
  std::vector<std::shared_ptr<Table>> tables_;
};

TEST_F(ConcurrencyTest, ReadersSeeWholeWritesWhileOthersWrite) {
  std::atomic<int> writing{kWriters};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < kWrites; ++i) {
        Status status = WriteBoth(writer, i);
        EXPECT_TRUE(status.ok()) << status.message();
      }
      writing.fetch_sub(1);
    });
  }
  for (const std::function<Status()>& work :
       std::vector<std::function<Status()>>{[&] { return ReadBoth(); }, [&] { return GetSome(); },
                                            [&] { return store_->database().Flush(); }}) {
    threads.emplace_back([&writing, work] {
      while (writing.load() > 0) {
        Status status = work();
        EXPECT_TRUE(status.ok()) << status.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*Scan(0, nullptr), std::vector<int64_t>(kWriters * kKeys, kWrites - 1));
}

TEST_F(ConcurrencyTest, AStoreIsClosedWhileAllKindsOfWorkGoOn) {
  std::atomic<int64_t> value{0};
  std::atomic<int> copies{0};
  ASSERT_TRUE(WriteBoth(0, 0).ok());
  auto ingest = [&]() -> Status {
    Rows rows = MakeRows(5000, value.fetch_add(1));
    FLINT_ASSIGN_OR_RETURN(auto ingestion, Ingestion::Make(tables_[0], nullptr));
    FLINT_RETURN_IF_ERROR(ingestion->Add(rows.view));
    return ingestion->Finish().status();
  };
  auto checkpoint = [&] {
    const std::string path = home_ + "/copy" + std::to_string(copies.fetch_add(1));
    return MakeCheckpoint(store_->database(), path, {.sync_linked_files = false});
  };
  UntilClosed({[&] { return WriteBoth(1, value.fetch_add(1)); },
               [&] { return a().DeleteRange({std::string(8, '\0'), std::string(8, '\1')}); },
               [&] { return GetSome(); }, [&] { return Scan(0, nullptr).status(); }, ingest,
               checkpoint, [&] { return store_->database().Compact(a().family()); }},
              [&] {
                while (copies.load() < 3) std::this_thread::yield();
                Status status = store_->Close();
                EXPECT_TRUE(status.ok()) << status.message();
              });
}

TEST_F(ConcurrencyTest, TablesAreMadeChangedAndDroppedByManyThreads) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string own = "own" + std::to_string(thread);
      for (int i = 0; i < 5; ++i) {
        TableDefinition definition;
        definition.name = own;
        definition.key = {{Number("k")}};
        definition.value = {{Number("v")}};
        auto table = store_->OpenTable(definition);
        ASSERT_TRUE(table.ok()) << table.status().message();
        Rows rows = MakeRows(0, i);
        EXPECT_TRUE((*table)->Write(WriteKind::kPut, rows.view).ok());
        EXPECT_TRUE(store_->FindTable("a").ok());
        EXPECT_GE(store_->TableNames().size(), 2u);
        EXPECT_TRUE(store_->DropTable(own).ok());
        EXPECT_FALSE((*table)->Write(WriteKind::kPut, rows.view).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->TableNames(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace flint
