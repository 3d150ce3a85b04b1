// The changelog writer against zstd itself on the same bytes, append by append, sync by sync.
//
// Every figure that is a ratio is the median over iterations in which ours and the other one run in
// turn. Files go to $TMPDIR.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "changelog/block_builder.h"
#include "changelog/reader.h"
#include "changelog/record_source.h"
#include "changelog/writer.h"

namespace flint::changelog {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

double Quantile(std::vector<double> values, double q) {
  auto at = values.begin() + static_cast<ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::string TemporaryPath(const char* name) {
  std::string path = std::filesystem::temp_directory_path() / "flint_bench_";
  path += std::to_string(::getpid()) + name;
  std::filesystem::remove(path);
  return path;
}

// Records that a bench appends over and over; their bytes lie in one piece.
struct Workload {
  std::string bytes;
  std::vector<Record> records;
};

// What a count and sum per key writes: an 8-byte key after its key group, a 17-byte row, and the
// keys of a batch of 10,000 in order.
Workload StateChanges(size_t count) {
  std::mt19937_64 random(1);
  Workload load;
  load.bytes.reserve(count * 26);
  std::vector<uint64_t> keys(10'000);
  for (size_t done = 0; done < count; done += keys.size()) {
    for (uint64_t& key : keys) key = random() % 500'000 * 0x9E3779B97F4A7C15u;
    std::sort(keys.begin(), keys.end());
    for (uint64_t key : keys) {
      uint64_t seen = done / 500'000 + random() % 5;
      double sum = static_cast<double>(random() % 100'000) / 100;
      char row[26];
      row[0] = static_cast<char>(key >> 57);
      for (int i = 0; i < 8; ++i) row[1 + i] = static_cast<char>(key >> (56 - 8 * i));
      row[9] = 1;
      std::memcpy(row + 10, &seen, 8);
      std::memcpy(row + 18, &sum, 8);
      const char* at = load.bytes.data() + load.bytes.size();
      load.bytes.append(row, sizeof row);
      load.records.push_back(
          {0, Operation::kPut, static_cast<uint16_t>(key >> 57), 1, {at, 9}, {at + 9, 17}});
    }
  }
  return load;
}

// Records of `size` random bytes, 16 of them the key.
Workload RandomBytes(size_t size) {
  size_t count = 76'800'000 / size;
  std::mt19937_64 random(2);
  Workload load;
  load.bytes.resize(count * size);
  for (size_t i = 0; i < load.bytes.size(); i += 8) {
    uint64_t word = random();
    std::memcpy(load.bytes.data() + i, &word, 8);
  }
  for (size_t i = 0; i < count; ++i) {
    const char* at = load.bytes.data() + i * size;
    load.records.push_back({0, Operation::kPut, 0, 1, {at, 16}, {at + 16, size - 16}});
  }
  return load;
}

// State changes, or random bytes in records of 64 bytes or of 1024.
const Workload& Load(int64_t random) {
  if (random == 64) {
    static const Workload small = RandomBytes(64);
    return small;
  }
  if (random == 1024) {
    static const Workload large = RandomBytes(1024);
    return large;
  }
  static const Workload changes = StateChanges(3'000'000);
  return changes;
}

// The same as Arrow columns.
class Columns {
 public:
  explicit Columns(const Workload& load) {
    ColumnBuilder keys{DataType(TypeId::kBinary)}, values{DataType(TypeId::kBinary)};
    ColumnBuilder groups{DataType(TypeId::kUInt16)};
    for (const Record& record : load.records) {
      keys.AppendBytes(record.key);
      values.AppendBytes(record.value);
      groups.Append(record.group);
    }
    keys.Finish(keys_.get());
    values.Finish(values_.get());
    groups.Finish(groups_.get());
    key_view_ = *ColumnView::Make(DataType(TypeId::kBinary), *keys_);
    value_view_ = *ColumnView::Make(DataType(TypeId::kBinary), *values_);
    group_view_ = *ColumnView::Make(DataType(TypeId::kUInt16), *groups_);
  }
  Writer::Many many() const {
    return {Operation::kPut, 1, 0, &*key_view_, &*value_view_, &*group_view_};
  }

 private:
  OwnedArray keys_, values_, groups_;
  std::optional<ColumnView> key_view_, value_view_, group_view_;
};

// The raw bodies of the blocks that the writer makes of it.
std::vector<std::string> RawBlocks(const Workload& load, size_t batch_bytes) {
  std::vector<std::string> blocks;
  BlockBuilder builder;
  for (const Record& record : load.records) {
    builder.Add(record.operation, record.group, record.table, record.key, record.value);
    bool last = &record == &load.records.back();
    if (builder.raw_size() < batch_bytes && !last) continue;
    const ArrowBuffer* raw = builder.Seal();
    blocks.emplace_back(raw->data() + kBlockHeaderSize, raw->size() - kBlockHeaderSize);
    builder.Clear();
  }
  return blocks;
}

// The blocks as they are, written to a file, up to a megabyte at a time: no writer can be faster
// where nothing shrinks.
double SecondsOfWrite(const std::vector<std::string>& blocks) {
  std::string path = TemporaryPath("write");
  Clock::time_point start = Clock::now();
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  for (size_t i = 0; i < blocks.size();) {
    iovec pieces[64];
    int count = 0;
    for (size_t bytes = 0; count < 64 && i < blocks.size() && bytes < 1u << 20; ++i) {
      pieces[count++] = {const_cast<char*>(blocks[i].data()), blocks[i].size()};
      bytes += blocks[i].size();
    }
    if (::writev(file, pieces, count) < 0) std::abort();
  }
  ::close(file);
  double seconds = Seconds(start);
  std::filesystem::remove(path);
  return seconds;
}

// With a file, what comes out is written to it.
double SecondsOfZstd(const std::vector<std::string>& blocks, int level, bool into_file) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  std::string out(ZSTD_compressBound(8u << 20), '\0');
  std::string path = TemporaryPath("zstd");
  Clock::time_point start = Clock::now();
  int file = into_file ? ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
  for (const std::string& block : blocks) {
    size_t size = ZSTD_compress2(context, out.data(), out.size(), block.data(), block.size());
    if (into_file && ::write(file, out.data(), size) < 0) std::abort();
    benchmark::DoNotOptimize(size);
  }
  if (into_file) ::close(file);
  double seconds = Seconds(start);
  ZSTD_freeCCtx(context);
  std::filesystem::remove(path);
  return seconds;
}

// Record by record, or all by one call where there are `columns`.
double SecondsOfOurs(const Workload& load, const Columns* columns, const WriterOptions& options) {
  std::string path = TemporaryPath("throughput");
  Clock::time_point start = Clock::now();
  auto writer = *Writer::Create(path, options);
  if (columns != nullptr) {
    benchmark::DoNotOptimize(writer->AppendMany(columns->many()).ok());
  } else {
    for (const Record& record : load.records) benchmark::DoNotOptimize(writer->Append(record).ok());
  }
  bool closed = writer->Close(Durability::kProcess).ok();
  double seconds = Seconds(start);
  benchmark::DoNotOptimize(closed);
  std::filesystem::remove(path);
  return seconds;
}

// Arguments: level, block size in KiB, bytes of a random record or 0 for state changes, 1 for one
// call of AppendMany.
void ThroughputAgainstZstd(benchmark::State& state) {
  WriterOptions options;
  options.level = static_cast<int>(state.range(0));
  options.batch_bytes = static_cast<size_t>(state.range(1)) << 10;
  const Workload& load = Load(state.range(2));
  std::optional<Columns> columns;
  if (state.range(3) != 0) columns.emplace(load);
  std::vector<std::string> blocks = RawBlocks(load, options.batch_bytes);
  size_t raw = 0;
  for (const std::string& block : blocks) raw += block.size();
  std::vector<double> zstd, file, write, ours, ratio, file_ratio, write_ratio;
  for (auto _ : state) {
    zstd.push_back(SecondsOfZstd(blocks, options.level, false));
    ours.push_back(SecondsOfOurs(load, columns.has_value() ? &*columns : nullptr, options));
    file.push_back(SecondsOfZstd(blocks, options.level, true));
    write.push_back(SecondsOfWrite(blocks));
    ratio.push_back(zstd.back() / ours.back());
    file_ratio.push_back(file.back() / ours.back());
    write_ratio.push_back(zstd.back() / write.back());
    state.SetIterationTime(ours.back());
  }
  double megabytes = static_cast<double>(raw) / 1e6;
  state.counters["zstd_MB/s"] = megabytes / Quantile(zstd, 0.5);
  state.counters["ours_MB/s"] = megabytes / Quantile(ours, 0.5);
  state.counters["ratio"] = Quantile(ratio, 0.5);
  state.counters["file_MB/s"] = megabytes / Quantile(file, 0.5);
  state.counters["write_MB/s"] = megabytes / Quantile(write, 0.5);
  state.counters["file_ratio"] = Quantile(file_ratio, 0.5);
  state.counters["write_ratio"] = Quantile(write_ratio, 0.5);
}
BENCHMARK(ThroughputAgainstZstd)
    ->ArgNames({"level", "KiB", "random", "many"})
    ->ArgsProduct({{-1, 1, 3}, {16, 256, 4096}, {0, 64}, {0}})
    ->ArgsProduct({{1}, {64, 1024}, {0, 64}, {0}})
    ->ArgsProduct({{1}, {16, 64, 256, 1024, 4096}, {64}, {1}})
    ->ArgsProduct({{1}, {16, 64, 256, 1024, 4096}, {1024}, {0}})
    ->ArgsProduct({{-1, 3}, {256}, {1024}, {0}})
    ->UseManualTime()
    ->Iterations(7)
    ->Unit(benchmark::kMillisecond);

// Nanoseconds of single appends of 64-byte records while the background thread compresses. The
// clock's own cost is measured and taken off.
void AppendLatency(benchmark::State& state) {
  const Workload& load = Load(64);
  std::vector<double> clock(10'001);
  for (double& tick : clock) tick = Seconds(Clock::now());
  std::vector<double> took;
  for (auto _ : state) {
    std::string path = TemporaryPath("append");
    auto writer = *Writer::Create(path, {});
    for (const Record& record : load.records) {
      Clock::time_point start = Clock::now();
      benchmark::DoNotOptimize(writer->Append(record).ok());
      took.push_back(Seconds(start));
    }
    (void)writer->Close(Durability::kProcess).ok();
    std::filesystem::remove(path);
  }
  double clock_cost = Quantile(clock, 0.5);
  for (auto [name, q] : {std::pair{"p50_ns", 0.5}, {"p99_ns", 0.99}, {"p99.9_ns", 0.999}}) {
    state.counters[name] = (Quantile(took, q) - clock_cost) * 1e9;
  }
}
BENCHMARK(AppendLatency)->Iterations(5)->Unit(benchmark::kMillisecond);

// Appends of 64 bytes back to back: what one costs without a clock around it.
void AppendBackToBack(benchmark::State& state) {
  const Workload& load = Load(64);
  for (auto _ : state) {
    std::string path = TemporaryPath("append");
    auto writer = *Writer::Create(path, {});
    for (const Record& record : load.records) benchmark::DoNotOptimize(writer->Append(record).ok());
    (void)writer->Close(Durability::kProcess).ok();
    std::filesystem::remove(path);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(load.records.size()));
}
BENCHMARK(AppendBackToBack)->Unit(benchmark::kMillisecond)->UseRealTime();

void AppendManyFromArrow(benchmark::State& state) {
  const Workload& load = Load(state.range(0));
  Columns columns(load);
  for (auto _ : state) {
    std::string path = TemporaryPath("many");
    auto writer = *Writer::Create(path, {});
    benchmark::DoNotOptimize(writer->AppendMany(columns.many()).ok());
    (void)writer->Close(Durability::kProcess).ok();
    std::filesystem::remove(path);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(load.records.size()));
}
BENCHMARK(AppendManyFromArrow)
    ->ArgName("random")
    ->Arg(0)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Sync with so many pending bytes, against write and fdatasync of as many. Microseconds.
void SyncAgainstFdatasync(benchmark::State& state) {
  const Workload& load = Load(0);
  std::string ours_path = TemporaryPath("sync"), bare_path = TemporaryPath("fdatasync");
  auto writer = *Writer::Create(ours_path, {});
  int bare = ::open(bare_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  size_t pending = static_cast<size_t>(state.range(0));
  std::vector<double> ours, theirs;
  size_t next = 0;
  for (auto _ : state) {
    for (size_t bytes = 0; bytes < pending; bytes += 26) {
      benchmark::DoNotOptimize(writer->Append(load.records[next++ % load.records.size()]).ok());
    }
    Clock::time_point start = Clock::now();
    benchmark::DoNotOptimize(writer->Sync().ok());
    ours.push_back(Seconds(start) * 1e6);
    start = Clock::now();
    bool written = ::write(bare, load.bytes.data(), pending) > 0 && ::fdatasync(bare) == 0;
    theirs.push_back(Seconds(start) * 1e6);
    benchmark::DoNotOptimize(written);
  }
  ::close(bare);
  writer.reset();
  std::filesystem::remove(ours_path);
  std::filesystem::remove(bare_path);
  state.counters["ours_us"] = Quantile(ours, 0.5);
  state.counters["fdatasync_us"] = Quantile(theirs, 0.5);
  state.counters["ratio"] = Quantile(ours, 0.5) / Quantile(theirs, 0.5);
}
BENCHMARK(SyncAgainstFdatasync)
    ->ArgName("pending")
    ->Arg(64)
    ->Arg(4096)
    ->Arg(65536)
    ->Iterations(500)
    ->Unit(benchmark::kMicrosecond);

// A tiny segment as a commit writes it: create, a thousand records, close.
void SmallSegment(benchmark::State& state) {
  const Workload& load = Load(0);
  for (auto _ : state) {
    std::string path = TemporaryPath("small");
    auto writer = *Writer::Create(path, {});
    for (size_t i = 0; i < 1000; ++i)
      benchmark::DoNotOptimize(writer->Append(load.records[i]).ok());
    benchmark::DoNotOptimize(writer->Close(Durability::kProcess).ok());
    state.PauseTiming();
    std::filesystem::remove(path);
    state.ResumeTiming();
  }
}
BENCHMARK(SmallSegment)->Unit(benchmark::kMicrosecond)->UseRealTime();

std::string WholeSegment() {
  std::string path = TemporaryPath("read");
  auto writer = *Writer::Create(path, {});
  for (const Record& record : Load(0).records)
    benchmark::DoNotOptimize(writer->Append(record).ok());
  (void)writer->Close(Durability::kProcess).ok();
  return path;
}

void ReadBlocks(benchmark::State& state) {
  std::string path = WholeSegment();
  for (auto _ : state) {
    auto reader = *Reader::Open(path);
    RecordBlock block;
    uint64_t bytes = 0;
    while (*reader->Next(&block)) {
      block.ForEach([&](const Record& record) { bytes += record.key.size(); });
    }
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(Load(0).records.size()));
  std::filesystem::remove(path);
}
BENCHMARK(ReadBlocks)->Unit(benchmark::kMillisecond);

void ReadArrowBatches(benchmark::State& state) {
  std::string path = WholeSegment();
  for (auto _ : state) {
    auto source = *RecordSource::Make(*Reader::Open(path), {});
    int64_t rows = 0;
    while (auto batch = *source->Next()) rows += (*batch)->length;
    benchmark::DoNotOptimize(rows);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(Load(0).records.size()));
  std::filesystem::remove(path);
}
BENCHMARK(ReadArrowBatches)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flint::changelog
