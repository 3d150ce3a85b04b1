// Lists as rows of their own against lists that a merge operator grows (decision 32): appends to
// and reads of lists of 10 to 10,000 elements of 16 bytes, 100 lists, on bare RocksDB without its
// log.

#include <benchmark/benchmark.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>

#include <filesystem>
#include <memory>
#include <string>

#include "state/row_key.h"

namespace flint {
namespace {

constexpr int kLists = 100;
const std::string kElement(16, 'x');

class AppendOperator : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "bench.append"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& value,
             std::string* merged, rocksdb::Logger*) const override {
    if (existing != nullptr) merged->assign(existing->data(), existing->size());
    merged->append(value.data(), value.size());
    return true;
  }
};

// A database with kLists lists, removed when it goes.
class Lists {
 public:
  explicit Lists(bool rows) : rows_(rows) {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/flint_lists_XXXXXX";
    home_ = ::mkdtemp(pattern.data());
    rocksdb::Options options;
    options.create_if_missing = true;
    options.merge_operator = std::make_shared<AppendOperator>();
    rocksdb::DB* db = nullptr;
    if (!rocksdb::DB::Open(options, home_ + "/db", &db).ok()) std::abort();
    db_.reset(db);
    writing_.disableWAL = true;
  }
  ~Lists() {
    db_.reset();
    std::filesystem::remove_all(home_);
  }

  void Append(int list) {
    std::string key = Key(list);
    if (rows_) AppendBigEndian(next_++, &key);
    rocksdb::Status status =
        rows_ ? db_->Put(writing_, key, kElement) : db_->Merge(writing_, key, kElement);
    if (!status.ok()) std::abort();
  }
  void Fill(int64_t elements) {
    for (int64_t i = 0; i < elements * kLists; ++i) Append(static_cast<int>(i % kLists));
    if (!db_->Flush({}).ok()) std::abort();
  }
  size_t Read(int list) {
    std::string key = Key(list);
    size_t bytes = 0;
    if (!rows_) {
      rocksdb::PinnableSlice value;
      if (!db_->Get({}, db_->DefaultColumnFamily(), key, &value).ok()) std::abort();
      return value.size();
    }
    std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
    for (it->Seek(key); it->Valid() && it->key().starts_with(key); it->Next()) {
      bytes += it->value().size();
    }
    return bytes;
  }

 private:
  static std::string Key(int list) {
    std::string key;
    AppendBigEndian(static_cast<uint64_t>(list), &key);
    return key;
  }

  bool rows_;
  std::string home_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions writing_;
  uint64_t next_ = 0;
};

void Append(benchmark::State& state, bool rows) {
  Lists lists(rows);
  lists.Fill(state.range(0));
  int list = 0;
  for (auto _ : state) lists.Append(list++ % kLists);
  state.SetItemsProcessed(state.iterations());
}

void Read(benchmark::State& state, bool rows) {
  Lists lists(rows);
  lists.Fill(state.range(0));
  int list = 0;
  for (auto _ : state) benchmark::DoNotOptimize(lists.Read(list++ % kLists));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// A program that appends and looks at the list each time.
void AppendAndRead(benchmark::State& state, bool rows) {
  Lists lists(rows);
  lists.Fill(state.range(0));
  int list = 0;
  for (auto _ : state) {
    lists.Append(list % kLists);
    benchmark::DoNotOptimize(lists.Read(list++ % kLists));
  }
}

BENCHMARK_CAPTURE(Append, rows, true)->Arg(10)->Arg(10000)->Iterations(200000);
BENCHMARK_CAPTURE(Append, merge, false)->Arg(10)->Arg(10000)->Iterations(200000);
BENCHMARK_CAPTURE(Read, rows, true)->Arg(10)->Arg(1000)->MinTime(0.3);
BENCHMARK_CAPTURE(Read, merge, false)->Arg(10)->Arg(1000)->MinTime(0.3);
BENCHMARK_CAPTURE(AppendAndRead, rows, true)->Arg(10)->Arg(1000)->Iterations(5000);
BENCHMARK_CAPTURE(AppendAndRead, merge, false)->Arg(10)->Arg(1000)->Iterations(5000);

}  // namespace
}  // namespace flint
