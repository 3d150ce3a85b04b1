#include "changelog/record_source.h"

#include <cstring>
#include <utility>

namespace flint::changelog {
namespace {

constexpr int64_t kRowsWanted = 16'384;
constexpr size_t kBytesWanted = 1u << 20;

// Fills `count` slots of `out` with what `next` gives for each selected row.
template <class T, class OfRow>
void FillSlots(const RecordBlock& block, ColumnBuilder& out, OfRow of_row) {
  T* slot = reinterpret_cast<T*>(out.ExtendSlots(static_cast<int64_t>(block.rows())));
  for (const RecordBlock::Run& run : block.runs()) {
    for (uint32_t i = run.begin; i < run.end; ++i) *slot++ = static_cast<T>(of_row(run, i));
  }
}

}  // namespace

// In the order of RecordSource::Column.
const std::vector<Field>& RecordSource::Fields() {
  static const std::vector<Field> fields = {
      {"sequence", DataType(TypeId::kInt64), false}, {"op", DataType(TypeId::kUInt8), false},
      {"table", DataType(TypeId::kUInt32), false},   {"key", DataType(TypeId::kBinary), false},
      {"value", DataType(TypeId::kBinary), true},    {"group", DataType(TypeId::kUInt16), false},
  };
  return fields;
}

Result<std::shared_ptr<RecordSource>> RecordSource::Make(std::unique_ptr<Reader> reader,
                                                         const std::vector<std::string>& columns) {
  Schema all{Fields()};
  std::vector<Column> wanted;
  Schema schema;
  for (const std::string& name : columns) {
    int k = all.IndexOf(name);
    if (k < 0 || schema.IndexOf(name) >= 0) {
      return Status::Invalid(
          "columns may name each of sequence, op, table, key, value, group once: " + name);
    }
    wanted.push_back(static_cast<Column>(k));
    schema.fields.push_back(all[static_cast<size_t>(k)]);
  }
  if (columns.empty()) {
    all.fields.pop_back();
    schema = all;
    wanted = {Column::kSequence, Column::kOperation, Column::kTable, Column::kKey, Column::kValue};
  }
  return std::shared_ptr<RecordSource>(
      new RecordSource(std::move(reader), std::move(wanted), std::move(schema)));
}

RecordSource::RecordSource(std::unique_ptr<Reader> reader, std::vector<Column> columns,
                           Schema schema)
    : reader_(std::move(reader)),
      columns_(std::move(columns)),
      schema_(std::move(schema)),
      builder_(schema_) {}

Result<std::optional<OwnedArray>> RecordSource::Next() {
  int64_t rows = 0;
  size_t bytes = 0;
  while (error_.ok() && rows < kRowsWanted && bytes < kBytesWanted) {
    Result<bool> more = reader_->Next(&block_);
    error_ = more.status();
    if (!more.ok() || !*more) break;
    AppendBlock();
    rows += static_cast<int64_t>(block_.rows());
    bytes += block_.key_ends().back() + block_.value_ends().back();
  }
  if (rows > 0) return std::optional(builder_.Finish(rows));
  FLINT_RETURN_IF_ERROR(error_);
  return std::optional<OwnedArray>();
}

void RecordSource::AppendBlock() {
  for (size_t k = 0; k < columns_.size(); ++k) AppendColumn(columns_[k], builder_.column(k));
}

void RecordSource::AppendColumn(Column column, ColumnBuilder& out) const {
  using Run = RecordBlock::Run;
  const RecordBlock& block = block_;
  switch (column) {
    case Column::kSequence:
      return FillSlots<int64_t>(block, out,
                                [&](const Run&, uint32_t i) { return block.sequence(i); });
    case Column::kOperation:
      return FillSlots<uint8_t>(
          block, out, [](const Run& run, uint32_t) { return static_cast<uint8_t>(run.operation); });
    case Column::kTable:
      return FillSlots<uint32_t>(block, out, [](const Run& run, uint32_t) { return run.table; });
    case Column::kGroup:
      return FillSlots<uint16_t>(block, out, [](const Run& run, uint32_t) { return run.group; });
    case Column::kKey:
      return block.ForEach([&](const Record& record) { out.AppendBytes(record.key); });
    case Column::kValue:
      return block.ForEach([&](const Record& record) {
        HasValue(record.operation) ? out.AppendBytes(record.value) : out.AppendNull();
      });
  }
}

}  // namespace flint::changelog
