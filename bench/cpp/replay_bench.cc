// A segment replayed into a database, against the same records put by batches: ratio of medians of
// runs that alternate. The writes survive nothing (no write-ahead log) in both.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "changelog/writer.h"
#include "state/segment_replay.h"

namespace flint {
namespace {

constexpr size_t kRecords = 1'000'000;
constexpr size_t kBatch = 10'000;

double Seconds(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Row {
  std::string key;
  std::string value;
};

std::vector<Row> Rows() {
  std::mt19937_64 random(3);
  std::vector<Row> rows(kRecords);
  for (Row& row : rows) {
    uint64_t key = random() % kRecords * 0x9E3779B97F4A7C15u;
    row.key.assign(reinterpret_cast<const char*>(&key), sizeof key);
    row.value = std::string(60, 'v') + std::to_string(random() % 100'000);
  }
  return rows;
}

class Bench {
 public:
  // `sorted`: each batch of 10,000 is in key order, as a backend's commits are.
  explicit Bench(bool sorted) : rows_(Rows()) {
    home_ = std::filesystem::temp_directory_path() / ("flint_replay_" + std::to_string(::getpid()));
    std::filesystem::remove_all(home_);
    std::filesystem::create_directories(home_);
    auto writer = *changelog::Writer::Create(home_ + "/log", {});
    for (size_t from = 0; from < kRecords; from += kBatch) {
      auto begin = rows_.begin() + static_cast<ptrdiff_t>(from);
      auto by_key = [](const Row& a, const Row& b) { return a.key < b.key; };
      if (sorted) std::stable_sort(begin, begin + kBatch, by_key);
    }
    for (const Row& row : rows_) {
      benchmark::DoNotOptimize(
          writer->Append({0, changelog::Operation::kPut, 0, 1, row.key, row.value}).ok());
    }
    (void)writer->Close(changelog::Durability::kProcess).ok();
  }
  ~Bench() { std::filesystem::remove_all(home_); }

  double Replay() {
    std::shared_ptr<Database> database = Open();
    auto start = std::chrono::steady_clock::now();
    ReplayTarget target;
    target.database = database.get();
    target.tables[1] = *database->FindFamily("rows");
    Status status = ReplaySegment(changelog::Reader::Open(home_ + "/log")->get(), target);
    double seconds = Seconds(start);
    if (!status.ok()) std::abort();
    return seconds;
  }

  double PutBatches() {
    std::shared_ptr<Database> database = Open();
    auto start = std::chrono::steady_clock::now();
    Family* family = *database->FindFamily("rows");
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < kRecords; ++i) {
      benchmark::DoNotOptimize(batch.Put(family, rows_[i].key, rows_[i].value).ok());
      if ((i + 1) % kBatch != 0) continue;
      if (!database->Write(&batch, true).ok()) std::abort();
      batch.Clear();
    }
    return Seconds(start);
  }

 private:
  std::shared_ptr<Database> Open() {
    std::filesystem::remove_all(home_ + "/db");
    DatabaseOptions options;
    options.durability = Durability::kNone;
    options.flush_on_close = false;
    options.families.resize(1);
    options.families[0].name = "rows";
    return *Database::Open(home_ + "/db", options);
  }

  std::string home_;
  std::vector<Row> rows_;
};

void ReplayAgainstBatchPut(benchmark::State& state) {
  Bench bench(state.range(0) != 0);
  std::vector<double> replay, put;
  for (auto _ : state) {
    put.push_back(bench.PutBatches());
    replay.push_back(bench.Replay());
    state.SetIterationTime(replay.back());
  }
  state.counters["replay_M/s"] = kRecords / Median(replay) / 1e6;
  state.counters["put_M/s"] = kRecords / Median(put) / 1e6;
  state.counters["ratio"] = Median(put) / Median(replay);
}
BENCHMARK(ReplayAgainstBatchPut)
    ->ArgName("sorted")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flint
