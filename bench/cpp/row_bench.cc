#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "row/row_decoder.h"
#include "row/row_encoder.h"
#include "row/row_reader.h"
#include "row/row_writer.h"

// Rows per second between columns and rows, in batches of 4,096, and for single rows.

namespace flint {
namespace {

constexpr int64_t kRows = 4096;

enum Shape { kOneInteger, kBinary100, kSixMixed, kSixMixedWithNulls };

Field Nullable(const char* name, TypeId id) { return {name, DataType(id), true}; }

Schema SchemaOf(Shape shape) {
  if (shape == kOneInteger) return {{Nullable("v", TypeId::kInt64)}};
  if (shape == kBinary100) return {{Nullable("v", TypeId::kBinary)}};
  return {{Nullable("id", TypeId::kInt64), Nullable("score", TypeId::kFloat64),
           Nullable("count", TypeId::kInt32), Nullable("name", TypeId::kString),
           Nullable("live", TypeId::kBool), Nullable("url", TypeId::kString)}};
}

// A batch and its rows.
struct Sample {
  Schema columns;
  std::shared_ptr<const RowSchema> schema;
  OwnedArray array;
  BatchView batch;
  std::vector<const ColumnView*> views;
  RowEncoder encoder;
  std::vector<std::string_view> rows;

  explicit Sample(Shape shape)
      : columns(SchemaOf(shape)),
        schema(*RowSchema::Make(columns)),
        array(Fill(columns, shape)),
        batch(*BatchView::Make(columns, *array)),
        encoder(schema) {
    for (const ColumnView& column : batch.columns) views.push_back(&column);
    if (!encoder.Encode(views, 0, kRows).ok()) std::abort();
    for (int64_t i = 0; i < kRows; ++i) rows.push_back(encoder.row(i));
  }

  static OwnedArray Fill(const Schema& columns, Shape shape) {
    std::mt19937_64 random(1);
    BatchBuilder builder(columns);
    for (size_t k = 0; k < columns.size(); ++k) {
      ColumnBuilder& column = builder.column(k);
      for (int64_t i = 0; i < kRows; ++i) {
        uint64_t bits = random();
        size_t length = shape == kBinary100 ? 100 : 4 + bits % 24;
        if (shape == kSixMixedWithNulls && bits % 10 == 0) {
          column.AppendNull();
        } else if (column.type().IsBytes()) {
          column.AppendBytes(std::string(length, static_cast<char>('a' + bits % 26)));
        } else if (column.type().id == TypeId::kBool) {
          column.AppendBool(bits % 2 == 0);
        } else {
          column.AppendSlot(&bits);
        }
      }
    }
    return builder.Finish(kRows);
  }
};

void Count(benchmark::State& state, const Sample& sample) {
  size_t bytes = 0;
  for (std::string_view row : sample.rows) bytes += row.size();
  state.SetItemsProcessed(state.iterations() * kRows);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void Encode(benchmark::State& state, Shape shape) {
  Sample sample(shape);
  RowEncoder encoder(sample.schema);
  for (auto _ : state) {
    if (!encoder.Encode(sample.views, 0, kRows).ok()) state.SkipWithError("encode");
    benchmark::DoNotOptimize(encoder.row(kRows - 1).data());
  }
  Count(state, sample);
}

void Decode(benchmark::State& state, Shape shape, std::vector<int> chosen) {
  Sample sample(shape);
  RowDecoder decoder(sample.schema, std::move(chosen));
  Schema columns;
  for (int k : decoder.columns()) columns.fields.push_back(sample.columns[static_cast<size_t>(k)]);
  for (auto _ : state) {
    BatchBuilder builder(columns);
    std::vector<ColumnBuilder*> out;
    for (size_t k = 0; k < columns.size(); ++k) {
      builder.column(k).Reserve(kRows);
      out.push_back(&builder.column(k));
    }
    if (!decoder.Decode(sample.rows, out).ok()) state.SkipWithError("decode");
    OwnedArray array = builder.Finish(kRows);
    benchmark::DoNotOptimize(array->buffers);
  }
  Count(state, sample);
}

// One row after another, of an integer, as state does it.
void WriteOne(benchmark::State& state) {
  Sample sample(kOneInteger);
  std::string out;
  int64_t value = 0;
  for (auto _ : state) {
    out.clear();
    TupleWriter tuple = BeginRow(*sample.schema, &out);
    const MemberLayout& member = sample.schema->current().layout.members[0];
    std::memcpy(out.data() + tuple.SlotAt(member), &++value, sizeof value);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}

void ReadOne(benchmark::State& state) {
  Sample sample(kOneInteger);
  RowReader reader(*sample.schema);
  size_t i = 0;
  for (auto _ : state) {
    bool null = false;
    std::string_view value;
    if (!reader.Open(sample.rows[i++ % kRows]).ok() || !reader.Read(0, &null, &value).ok()) {
      state.SkipWithError("read");
    }
    benchmark::DoNotOptimize(value);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(Encode, one_int64, kOneInteger);
BENCHMARK_CAPTURE(Encode, binary_of_100, kBinary100);
BENCHMARK_CAPTURE(Encode, six_mixed, kSixMixed);
BENCHMARK_CAPTURE(Encode, six_mixed_tenth_null, kSixMixedWithNulls);
BENCHMARK_CAPTURE(Decode, one_int64, kOneInteger, std::vector<int>{0});
BENCHMARK_CAPTURE(Decode, binary_of_100, kBinary100, std::vector<int>{0});
BENCHMARK_CAPTURE(Decode, six_mixed, kSixMixed, std::vector<int>{0, 1, 2, 3, 4, 5});
BENCHMARK_CAPTURE(Decode, six_mixed_two_of_them, kSixMixed, std::vector<int>{2, 3});
BENCHMARK_CAPTURE(Decode, six_mixed_tenth_null, kSixMixedWithNulls,
                  std::vector<int>{0, 1, 2, 3, 4, 5});
BENCHMARK(WriteOne);
BENCHMARK(ReadOne);

}  // namespace
}  // namespace flint
