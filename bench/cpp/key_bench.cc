#include <benchmark/benchmark.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "key/key_decoder.h"
#include "key/key_encoder.h"
#include "key/key_group.h"

namespace flint {
namespace {

constexpr int64_t kRows = 1 << 20;
constexpr int64_t kBatchRows = 1 << 16;  // what is encoded at once, into memory that is used again

using Fill = std::function<void(ColumnBuilder*, std::mt19937_64*)>;

void FillInts(ColumnBuilder* column, std::mt19937_64* random) {
  for (int64_t i = 0; i < kRows; ++i) column->Append(static_cast<int64_t>((*random)()));
}

void FillDoubles(ColumnBuilder* column, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < kRows; ++i) column->Append(normal(*random));
}

void FillStrings(ColumnBuilder* column, std::mt19937_64* random) {
  for (int64_t i = 0; i < kRows; ++i) {
    char text[14];
    std::snprintf(text, sizeof text, "k%012" PRIu64, (*random)() % 1'000'000'000'000);
    column->AppendBytes(text);
  }
}

struct Column {
  TypeId type;
  bool nullable;
  bool descending;
  Fill fill;
};

// A table of random rows, its key schema, and its keys.
struct Workload {
  explicit Workload(const std::vector<Column>& columns) {
    Schema schema;
    std::vector<std::string> descending;
    for (size_t k = 0; k < columns.size(); ++k) {
      std::string name = "c" + std::to_string(k);
      schema.fields.push_back({name, DataType(columns[k].type), columns[k].nullable});
      if (columns[k].descending) descending.push_back(name);
    }
    BatchBuilder builder(schema);
    std::mt19937_64 random(1);
    for (size_t k = 0; k < columns.size(); ++k) columns[k].fill(&builder.column(k), &random);
    array = builder.Finish(kRows);
    batch = *BatchView::Make(schema, *array);
    keys = *KeySchema::Make(schema, descending);
  }

  OwnedArray array;
  BatchView batch;
  KeySchema keys;
};

const Column kInt{TypeId::kInt64, true, false, FillInts};
const Column kIntNotNull{TypeId::kInt64, false, false, FillInts};
const Column kString{TypeId::kString, true, false, FillStrings};
const Column kStringDescending{TypeId::kString, true, true, FillStrings};
const Column kDoubleDescending{TypeId::kFloat64, true, true, FillDoubles};

void Encode(benchmark::State& state, const std::vector<Column>& columns) {
  Workload work(columns);
  KeyEncoder encoder(work.keys);
  EncodedKeys keys;
  for (auto _ : state) {
    for (int64_t from = 0; from < kRows; from += kBatchRows) {
      keys.Clear();
      if (!encoder.Append(work.batch.columns, from, kBatchRows, &keys).ok()) std::abort();
      benchmark::DoNotOptimize(keys.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void Decode(benchmark::State& state, const std::vector<Column>& columns) {
  Workload work(columns);
  EncodedKeys keys;
  if (!KeyEncoder(work.keys).Append(work.batch, &keys).ok()) std::abort();
  std::vector<std::string_view> views;
  for (int64_t i = 0; i < keys.size(); ++i) views.push_back(keys[i]);
  KeyDecoder decoder(work.keys);
  for (auto _ : state) {
    for (int64_t from = 0; from < kRows; from += kBatchRows) {
      BatchBuilder builder(work.keys.schema());
      std::vector<ColumnBuilder*> out;
      for (size_t k = 0; k < builder.num_columns(); ++k) out.push_back(&builder.column(k));
      std::span<const std::string_view> some(views.data() + from, kBatchRows);
      if (!decoder.Append(some, out).ok()) std::abort();
      benchmark::DoNotOptimize(builder.Finish(kBatchRows));
    }
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void Groups(benchmark::State& state, const std::vector<Column>& columns) {
  Workload work(columns);
  KeyGroupHash hash = *KeyGroupHash::Make(work.keys.schema(), 128);
  std::vector<uint16_t> groups(kRows);
  for (auto _ : state) {
    if (!hash.GroupsOf(work.batch.columns, 0, kRows, groups.data()).ok()) std::abort();
    benchmark::DoNotOptimize(groups.data());
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

const std::vector<Column> kThree{kInt, kDoubleDescending, kString};

BENCHMARK_CAPTURE(Encode, int64, {kInt});
BENCHMARK_CAPTURE(Encode, int64_not_null, {kIntNotNull});
BENCHMARK_CAPTURE(Encode, string, {kString});
BENCHMARK_CAPTURE(Encode, string_descending, {kStringDescending});
BENCHMARK_CAPTURE(Encode, int64_double_desc_string, kThree);
BENCHMARK_CAPTURE(Decode, int64, {kInt});
BENCHMARK_CAPTURE(Decode, string, {kString});
BENCHMARK_CAPTURE(Decode, string_descending, {kStringDescending});
BENCHMARK_CAPTURE(Decode, int64_double_desc_string, kThree);
BENCHMARK_CAPTURE(Groups, int64, {kInt});
BENCHMARK_CAPTURE(Groups, string, {kString});
BENCHMARK_CAPTURE(Groups, int64_double_desc_string, kThree);

}  // namespace
}  // namespace flint
