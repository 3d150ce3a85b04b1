#include "state/entry_source.h"

#include "row/row_schema.h"
#include "state/stored_value.h"

namespace flint {
namespace {

constexpr int64_t kBatchRows = 8192;
constexpr size_t kBatchBytes = 16u << 20;

// What the value's column is called, and its own key's.
const char* ValueName(StateKind kind) {
  if (kind == StateKind::kMap) return "map_value";
  return kind == StateKind::kAggregating ? "accumulator" : "value";
}

Field UserKeyField(const StateDescriptor& state) {
  Field field;
  field.name = state.kind == StateKind::kMap ? "map_key" : "sort_key";
  field.type = state.user_key[0].type;
  if (state.user_key.size() > 1) {
    field.type = DataType(TypeId::kStruct);
    field.type.children = state.user_key.fields;
  }
  return field;
}

}  // namespace

Result<KeySchema> UserKeySchema(const StateDescriptor& state) {
  bool last = state.kind == StateKind::kMap;
  return KeySchema::Make(state.user_key, state.descending, NullOrder::kFirst,
                         last ? KeySchema::End::kOpen : KeySchema::End::kTerminated);
}

EntrySource::EntrySource(const Backend& backend, const StateDescriptor& state, const Schema& key,
                         std::unique_ptr<OrderedScan> scan)
    : key_(backend.key_schema()),
      group_bytes_(GroupBytes(backend.options().max_parallelism)),
      schema_(key),
      scan_(std::move(scan)) {
  for (Field& field : schema_.fields) field.type = field.type.Plain();
  for (Field field : state.space.fields) {
    field.type = field.type.Plain();
    schema_.fields.push_back(std::move(field));
  }
  if (state.user_key.size() > 0) schema_.fields.push_back(UserKeyField(state));
  Field value = state.value[0];
  value.name = ValueName(state.kind);
  value.type = value.type.Plain();
  value.nullable = true;
  schema_.fields.push_back(std::move(value));
}

Status EntrySource::Prepare(const StateDescriptor& state) {
  if (state.space.size() > 0) {
    FLINT_ASSIGN_OR_RETURN(space_, KeySchema::Canonical(state.space));
  }
  if (state.user_key.size() > 0) {
    FLINT_ASSIGN_OR_RETURN(user_key_, UserKeySchema(state));
  }
  FLINT_ASSIGN_OR_RETURN(auto rows, RowSchema::Make(state.value));
  values_ = std::make_unique<RowDecoder>(rows);
  return {};
}

Result<std::shared_ptr<EntrySource>> EntrySource::Open(Backend* backend, StateTable* table,
                                                       const Schema& key) {
  FLINT_ASSIGN_OR_RETURN(auto scan, table->ScanAll());
  std::shared_ptr<EntrySource> source(
      new EntrySource(*backend, table->descriptor(), key, std::move(scan)));
  FLINT_RETURN_IF_ERROR(source->Prepare(table->descriptor()));
  return source;
}

Status EntrySource::AppendKeys(std::string_view row_key, BatchBuilder* batch) {
  FLINT_ASSIGN_OR_RETURN(std::string_view bytes, BehindGroup(row_key, group_bytes_));
  KeyReader reader(bytes);
  size_t column = 0;
  for (const KeyPart& part : key_.parts()) {
    FLINT_RETURN_IF_ERROR(reader.TakeCell(part, &batch->column(column++)));
  }
  if (space_) FLINT_RETURN_IF_ERROR(reader.TakeCell(space_->part(0), &batch->column(column++)));
  if (!user_key_) return {};
  ColumnBuilder& own = batch->column(column);
  if (user_key_->size() == 1) return reader.TakeCell(user_key_->part(0), &own);
  for (size_t k = 0; k < user_key_->size(); ++k) {
    FLINT_RETURN_IF_ERROR(reader.TakeCell(user_key_->part(k), &own.child(k)));
  }
  own.FinishRow();
  return {};
}

Result<std::optional<OwnedArray>> EntrySource::Next() {
  if (done_) return std::optional<OwnedArray>();
  BatchBuilder batch(schema_);
  std::vector<std::string> rows;
  size_t bytes = 0;
  std::string_view row_key;
  std::string_view stored;
  while (static_cast<int64_t>(rows.size()) < kBatchRows && bytes < kBatchBytes) {
    FLINT_ASSIGN_OR_RETURN(bool more, scan_->Next(&row_key, &stored));
    done_ = !more;
    if (done_) break;
    FLINT_RETURN_IF_ERROR(AppendKeys(row_key, &batch));
    rows.emplace_back(RowOf(stored));
    bytes += row_key.size() + rows.back().size();
  }
  if (rows.empty()) return std::optional<OwnedArray>();
  std::vector<std::string_view> views(rows.begin(), rows.end());
  ColumnBuilder* values = &batch.column(batch.num_columns() - 1);
  FLINT_RETURN_IF_ERROR(values_->Decode(views, {&values, 1}));
  return std::optional<OwnedArray>(batch.Finish(static_cast<int64_t>(rows.size())));
}

KeyScan::KeyScan(const Backend& backend, const StateDescriptor& state, std::string space,
                 std::unique_ptr<OrderedScan> scan)
    : key_(backend.key_schema()),
      space_columns_(state.space.size()),
      space_schema_(backend.key_schema()),
      group_bytes_(GroupBytes(backend.options().max_parallelism)),
      space_(std::move(space)),
      scan_(std::move(scan)) {}

Result<KeyScan> KeyScan::Open(Backend* backend, StateTable* table, std::string space) {
  FLINT_ASSIGN_OR_RETURN(auto scan, table->ScanAll());
  KeyScan keys(*backend, table->descriptor(), std::move(space), std::move(scan));
  if (keys.space_columns_ > 0) {
    FLINT_ASSIGN_OR_RETURN(keys.space_schema_, KeySchema::Canonical(table->descriptor().space));
  }
  return keys;
}

Result<std::optional<std::string>> KeyScan::Next() {
  std::string_view row_key;
  std::string_view stored;
  while (true) {
    FLINT_ASSIGN_OR_RETURN(bool more, scan_->Next(&row_key, &stored));
    if (!more) return std::optional<std::string>();
    FLINT_ASSIGN_OR_RETURN(std::string_view bytes, BehindGroup(row_key, group_bytes_));
    KeyReader reader(bytes);
    for (const KeyPart& part : key_.parts()) FLINT_RETURN_IF_ERROR(reader.TakeCell(part, nullptr));
    std::string_view rest = reader.rest();
    if (!rest.starts_with(space_)) continue;
    std::string_view key = bytes.substr(0, bytes.size() - rest.size());
    if (key == last_ && !last_.empty()) continue;
    last_ = key;
    return std::optional<std::string>(last_);
  }
}

}  // namespace flint
