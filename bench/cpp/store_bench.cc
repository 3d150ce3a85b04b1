#include <benchmark/benchmark.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "scan/range_scan.h"
#include "store/checkpoint.h"
#include "store/ingest.h"
#include "store/store.h"

// The store in C++ ("Our...") beside RocksDB itself ("RocksDb..."), opened by the same code with
// the same options and, for reads, on the same files: what is left between them is ours. The second
// half is the floor that bench/peers/store.py compares Python's face with, in a process of its own.
//
//   FLINT_BENCH_ROWS   rows; 1,000,000 if not set
//   FLINT_BENCH_STORE  a store with a table "rows" to read instead of one made here
//
// docs/benchmarking.md has the workload and its traps.

namespace flint {
namespace {

constexpr int64_t kBatch = 10'000;
constexpr int64_t kLookup = 1'000;
constexpr int64_t kLookups = 200;
constexpr size_t kTextBytes = 83;  // a row of 100 bytes: version, two numbers, text
constexpr size_t kValueBytes = 100;
constexpr uint64_t kMemory = 512ull << 20;
constexpr int kFiles = 200;

int64_t Rows() {
  const char* set = std::getenv("FLINT_BENCH_ROWS");
  return set != nullptr ? std::atoll(set) : 1'000'000;
}

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "store_bench: %s\n", message.c_str());
  std::exit(1);
}

void Check(const Status& status) {
  if (!status.ok()) Fail(status.message());
}

void Check(const rocksdb::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

template <class T>
T Take(Result<T> result) {
  Check(result.status());
  return *std::move(result);
}

double SecondsOf(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A directory that is gone when the program ends.
class Home {
 public:
  Home() {
    std::string pattern = std::filesystem::temp_directory_path() / "bench-store-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Home() { std::filesystem::remove_all(path_); }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TableDefinition Definition() {
  auto required = [](const char* name, TypeId id) { return Field{name, DataType(id), false}; };
  TableDefinition definition;
  definition.name = "rows";
  definition.key = {{required("id", TypeId::kInt64)}};
  definition.value = {{required("count", TypeId::kInt64), required("score", TypeId::kFloat64),
                       required("text", TypeId::kString)}};
  return definition;
}

// Random rows, as columns for us and as bytes for RocksDB.
struct Data {
  std::vector<int64_t> ids;
  std::string letters;
  std::vector<OwnedArray> batches;
  Schema schema;

  explicit Data(int64_t rows) {
    std::mt19937_64 random(42);
    for (int64_t i = 0; i < rows; ++i) ids.push_back(static_cast<int64_t>(random()));
    letters.resize((static_cast<size_t>(rows) + 1) * kTextBytes + kValueBytes);
    for (char& letter : letters) letter = static_cast<char>('a' + random() % 26);
    const TableDefinition definition = Definition();
    schema = {{definition.key[0].field}};
    for (const Field& field : definition.value.fields) schema.fields.push_back(field);
    for (int64_t from = 0; from < rows; from += kBatch) {
      batches.push_back(Batch(from, std::min(kBatch, rows - from)));
    }
  }

  OwnedArray Batch(int64_t from, int64_t count) const {
    BatchBuilder builder(schema);
    for (int64_t i = from; i < from + count; ++i) {
      builder.column(0).Append<int64_t>(ids[static_cast<size_t>(i)]);
      builder.column(1).Append<int64_t>(i % 1000);
      builder.column(2).Append<double>(static_cast<double>(i));
      builder.column(3).AppendBytes(Text(i));
    }
    return builder.Finish(count);
  }
  std::string_view Text(int64_t i) const {
    return {letters.data() + static_cast<size_t>(i) * kTextBytes, kTextBytes};
  }
  rocksdb::Slice Key(int64_t i) const {
    return {reinterpret_cast<const char*>(&ids[static_cast<size_t>(i)]), sizeof(int64_t)};
  }
  rocksdb::Slice Value(int64_t i) const { return {Text(i).data(), kValueBytes}; }
};

std::shared_ptr<Store> OpenStore(const std::string& directory) {
  StoreOptions options;
  options.durability = Durability::kNone;
  options.memory_bytes = kMemory;
  return Take(Store::Open(directory, options));
}

void PutAll(Table& table, const Data& data) {
  for (const OwnedArray& batch : data.batches) {
    Check(table.Write(WriteKind::kPut, Take(BatchView::Make(data.schema, *batch))));
  }
}

// ---- writes

void Report(benchmark::State& state, int64_t amount) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * amount);
}

// Times `work` on a new, empty table.
void OnEmptyTable(benchmark::State& state,
                  const std::function<void(const std::shared_ptr<Table>&, const Data&)>& work) {
  const Data data(state.range(0));
  for (auto _ : state) {
    Home home;
    auto store = OpenStore(home.Path("store"));
    auto table = Take(store->OpenTable(Definition()));
    state.SetIterationTime(SecondsOf([&] { work(table, data); }));
    Check(store->Close());
  }
  Report(state, state.range(0));
}

void OurPut(benchmark::State& state) {
  OnEmptyTable(state, [](const auto& table, const Data& data) { PutAll(*table, data); });
}

void OurIngest(benchmark::State& state) {
  OnEmptyTable(state, [](const auto& table, const Data& data) {
    auto ingestion = Take(Ingestion::Make(table, nullptr));
    for (const OwnedArray& batch : data.batches) {
      Check(ingestion->Add(Take(BatchView::Make(data.schema, *batch))));
    }
    Take(ingestion->Finish());
  });
}

void RocksDbWrite(benchmark::State& state, bool sorted) {
  OnEmptyTable(state, [sorted](const auto& table, const Data& data) {
    rocksdb::DB* db = table->database()->raw();
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    options.memtable_insert_hint_per_batch = sorted;
    std::vector<int64_t> order;
    rocksdb::WriteBatch batch;
    const auto rows = static_cast<int64_t>(data.ids.size());
    for (int64_t from = 0; from < rows; from += kBatch) {
      order.clear();
      for (int64_t i = from; i < std::min(from + kBatch, rows); ++i) order.push_back(i);
      auto before = [&](int64_t a, int64_t b) { return data.Key(a).compare(data.Key(b)) < 0; };
      if (sorted) std::sort(order.begin(), order.end(), before);
      batch.Clear();
      for (int64_t i : order) Check(batch.Put(table->family(), data.Key(i), data.Value(i)));
      Check(db->Write(options, &batch));
    }
  });
}

void RocksDbPut(benchmark::State& state) { RocksDbWrite(state, false); }
void RocksDbPutSorted(benchmark::State& state) { RocksDbWrite(state, true); }

// ---- reads

// A full, compacted table, and keys to look up in it, as bytes and as columns.
struct Full {
  Home home;
  std::shared_ptr<Store> store;
  std::shared_ptr<Table> table;
  std::vector<std::array<char, 8>> keys;
  std::vector<OwnedArray> columns;
  Schema schema;

  explicit Full(int64_t rows) {
    if (const char* made = std::getenv("FLINT_BENCH_STORE")) {
      store = OpenStore(made);
      table = Take(store->FindTable("rows"));
    } else {
      store = OpenStore(home.Path("full"));
      table = Take(store->OpenTable(Definition()));
      PutAll(*table, Data(rows));
      Check(store->database().Compact(table->family()));
    }
    schema = {{Definition().key[0].field}};
    ChooseKeys();
  }

  void ChooseKeys() {
    std::vector<std::array<char, 8>> all;
    std::unique_ptr<rocksdb::Iterator> it(
        table->database()->raw()->NewIterator(rocksdb::ReadOptions(), table->family()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      all.emplace_back();
      std::memcpy(all.back().data(), it->key().data(), all.back().size());
    }
    std::mt19937_64 random(7);
    for (int64_t i = 0; i < kLookup * kLookups; ++i) keys.push_back(all[random() % all.size()]);
    for (int64_t from = 0; from < kLookup * kLookups; from += kLookup) {
      BatchBuilder builder(schema);
      for (int64_t i = from; i < from + kLookup; ++i) {
        uint64_t ordered;
        std::memcpy(&ordered, keys[static_cast<size_t>(i)].data(), sizeof ordered);
        ordered = __builtin_bswap64(ordered) ^ (1ull << 63);
        builder.column(0).Append<uint64_t>(ordered);
      }
      columns.push_back(builder.Finish(kLookup));
    }
  }
};

// Times `work` once more than it is run: the first time fills the caches.
void OnFullTable(benchmark::State& state, int64_t amount,
                 const std::function<void(const Full&)>& work) {
  static const Full full(state.range(0));
  work(full);
  for (auto _ : state) work(full);
  Report(state, amount);
}

void OurGetMany(benchmark::State& state) {
  OnFullTable(state, kLookup * kLookups, [](const Full& full) {
    for (const OwnedArray& keys : full.columns) {
      auto rows = full.table->GetMany(Take(BatchView::Make(full.schema, *keys)), {});
      benchmark::DoNotOptimize(Take(std::move(rows))->length);
    }
  });
}

void RocksDbMultiGet(benchmark::State& state) {
  std::vector<rocksdb::Slice> keys(kLookup);
  std::vector<rocksdb::PinnableSlice> values(kLookup);
  std::vector<rocksdb::Status> statuses(kLookup);
  OnFullTable(state, kLookup * kLookups, [&](const Full& full) {
    for (size_t from = 0; from < full.keys.size(); from += kLookup) {
      for (size_t i = 0; i < kLookup; ++i) {
        keys[i] = {full.keys[from + i].data(), full.keys[from + i].size()};
        values[i].Reset();
      }
      full.table->database()->raw()->MultiGet(rocksdb::ReadOptions(), full.table->family(), kLookup,
                                              keys.data(), values.data(), statuses.data());
      for (const rocksdb::Status& status : statuses) Check(status);
    }
  });
  values.clear();
}

void OurScan(benchmark::State& state) {
  OnFullTable(state, state.range(0), [](const Full& full) {
    auto scan = Take(RangeScan::Make(full.table, {}));
    while (Take(scan->Next()).has_value()) {
    }
  });
}

void RocksDbScan(benchmark::State& state) {
  OnFullTable(state, state.range(0), [](const Full& full) {
    std::unique_ptr<rocksdb::Iterator> it(
        full.table->database()->raw()->NewIterator(rocksdb::ReadOptions(), full.table->family()));
    size_t bytes = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) bytes += it->key().size() + it->value().size();
    benchmark::DoNotOptimize(bytes);
    Check(it->status());
  });
}

// ---- checkpoints

std::shared_ptr<Database> OfFiles(const std::string& directory, int files) {
  DatabaseOptions options;
  options.families.resize(1);
  options.families[0].name = "rows";
  options.durability = Durability::kNone;
  auto database = Take(Database::Open(directory, options));
  Family* family = Take(database->FindFamily("rows"));
  rocksdb::Options table = database->OptionsOf(family);
  rocksdb::SstFileWriter writer{rocksdb::EnvOptions(table), table};
  std::vector<std::string> paths;
  for (int file = 0; file < files; ++file) {
    paths.push_back(directory + "/" + std::to_string(file) + ".new");
    Check(writer.Open(paths.back()));
    for (int i = 0; i < 1000; ++i) {
      uint64_t key = __builtin_bswap64(static_cast<uint64_t>(file) * 1000 + i);
      Check(writer.Put({reinterpret_cast<const char*>(&key), 8}, std::string(kValueBytes, 'v')));
    }
    Check(writer.Finish());
  }
  Check(database->Ingest(family, paths, /*move=*/true));
  return database;
}

void MakeCheckpoints(benchmark::State& state,
                     const std::function<void(Database&, const std::string&)>& make) {
  Home home;
  auto database = OfFiles(home.Path("db"), static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const std::string path = home.Path("checkpoint");
    state.SetIterationTime(SecondsOf([&] { make(*database, path); }));
    std::filesystem::remove_all(path);
  }
  Check(database->Close());
}

void OurCheckpoint(benchmark::State& state) {
  MakeCheckpoints(state, [](Database& database, const std::string& path) {
    Check(MakeCheckpoint(database, path, {.sync_linked_files = false}));
  });
}

void RocksDbCheckpoint(benchmark::State& state) {
  MakeCheckpoints(state, [](Database& database, const std::string& path) {
    rocksdb::Checkpoint* made = nullptr;
    Check(rocksdb::Checkpoint::Create(database.raw(), &made));
    std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    Check(checkpoint->CreateCheckpoint(path));
  });
}

BENCHMARK(OurPut)->Arg(Rows())->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(RocksDbPut)->Arg(Rows())->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(RocksDbPutSorted)
    ->Arg(Rows())
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(OurIngest)->Arg(Rows())->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(OurGetMany)->Arg(Rows())->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(RocksDbMultiGet)->Arg(Rows())->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(OurScan)->Arg(Rows())->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(RocksDbScan)->Arg(Rows())->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(OurCheckpoint)->Arg(kFiles)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(RocksDbCheckpoint)->Arg(kFiles)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flint
