#include "store/table_schema.h"

#include "base/schema_bytes.h"
#include "store/record.h"

namespace flint {
namespace {

constexpr uint64_t kFormat = 1;
constexpr uint64_t kDescending = 1;
constexpr uint64_t kNullsLast = 2;

bool SameKey(const std::vector<KeyColumn>& a, const std::vector<KeyColumn>& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].field.name != b[k].field.name || a[k].field.nullable != b[k].field.nullable ||
        !(a[k].field.type.Plain() == b[k].field.type.Plain()) ||
        a[k].descending != b[k].descending || a[k].nulls != b[k].nulls) {
      return false;
    }
  }
  return true;
}

std::string KeyToString(const std::vector<KeyColumn>& key) {
  std::string text;
  for (const KeyColumn& column : key) {
    text += (text.empty() ? "" : ", ") + Schema{{column.field}}.ToString();
    if (column.descending) text += " descending";
    if (column.nulls == NullOrder::kLast && column.field.nullable) text += " nulls last";
  }
  return "(" + text + ")";
}

void AppendKey(const std::vector<KeyColumn>& key, std::string* out) {
  AppendVarint(key.size(), out);
  for (const KeyColumn& column : key) {
    AppendField(column.field, out);
    AppendVarint(
        (column.descending ? kDescending : 0) | (column.nulls == NullOrder::kLast ? kNullsLast : 0),
        out);
  }
}

Result<std::vector<KeyColumn>> TakeKey(ByteReader* reader) {
  FLINT_ASSIGN_OR_RETURN(uint64_t count, reader->Varint());
  std::vector<KeyColumn> key;
  for (uint64_t k = 0; k < count; ++k) {
    KeyColumn column;
    FLINT_ASSIGN_OR_RETURN(column.field, reader->TakeField());
    FLINT_ASSIGN_OR_RETURN(uint64_t flags, reader->Varint());
    column.descending = (flags & kDescending) != 0;
    if ((flags & kNullsLast) != 0) column.nulls = NullOrder::kLast;
    key.push_back(std::move(column));
  }
  return key;
}

Result<MergeFunctions> TakeMerges(ByteReader* reader) {
  FLINT_ASSIGN_OR_RETURN(uint64_t count, reader->Varint());
  MergeFunctions merges;
  for (uint64_t i = 0; i < count; ++i) {
    FLINT_ASSIGN_OR_RETURN(std::string_view column, reader->String());
    FLINT_ASSIGN_OR_RETURN(std::string_view function, reader->String());
    FLINT_ASSIGN_OR_RETURN(merges[std::string(column)], ParseMergeFunction(function));
  }
  return merges;
}

Result<TableSchema> ParseBytes(std::string_view record) {
  FLINT_ASSIGN_OR_RETURN(std::string_view bytes, OpenRecord(record));
  ByteReader reader(bytes);
  FLINT_ASSIGN_OR_RETURN(uint64_t format, reader.Varint());
  if (format != kFormat) {
    return Status::Invalid("it is of format " + std::to_string(format) +
                           ", which this version of flintstate doesn't know: use a newer one");
  }
  TableSchema schema;
  FLINT_ASSIGN_OR_RETURN(schema.id, reader.Varint());
  FLINT_ASSIGN_OR_RETURN(schema.key_columns, TakeKey(&reader));
  FLINT_ASSIGN_OR_RETURN(std::string_view row, reader.String());
  FLINT_ASSIGN_OR_RETURN(schema.row, RowSchema::Parse(row));
  FLINT_ASSIGN_OR_RETURN(schema.merge, TakeMerges(&reader));
  FLINT_ASSIGN_OR_RETURN(schema.key, KeySchema::Make(schema.key_columns));
  return schema;
}

}  // namespace

Status TableSchema::Check() const {
  for (const KeyColumn& column : key_columns) {
    if (row->columns().IndexOf(column.field.name) >= 0) {
      return Status::Invalid("column '" + column.field.name + "' is in the key and in the value");
    }
  }
  for (const auto& [column, function] : merge) {
    int at = row->columns().IndexOf(column);
    if (at < 0) {
      return Status::Invalid("merge: there is no value column '" + column + "', but " +
                             row->columns().ToString());
    }
    FLINT_RETURN_IF_ERROR(CheckMergeFunction(function, row->columns()[static_cast<size_t>(at)]));
  }
  return {};
}

Result<TableSchema> TableSchema::Make(const TableDefinition& definition, uint64_t id) {
  TableSchema schema;
  schema.name = definition.name;
  schema.id = id;
  schema.key_columns = definition.key;
  FLINT_ASSIGN_OR_RETURN(schema.key, KeySchema::Make(definition.key));
  FLINT_ASSIGN_OR_RETURN(schema.row, RowSchema::Make(definition.value));
  schema.merge = definition.merge;
  FLINT_RETURN_IF_ERROR(schema.Check());
  return schema;
}

Result<TableSchema> TableSchema::Evolve(const TableDefinition& definition) const {
  if (!SameKey(key_columns, definition.key)) {
    return Status::Invalid("its key is " + KeyToString(key_columns) + " and can't become " +
                           KeyToString(definition.key) + ": make a new table for that");
  }
  TableSchema schema = *this;
  FLINT_ASSIGN_OR_RETURN(schema.row, row->Evolve(definition.value, definition.defaults));
  schema.merge = definition.merge;
  FLINT_RETURN_IF_ERROR(schema.Check());
  return schema;
}

std::string TableSchema::Serialize() const {
  std::string record;
  AppendVarint(kFormat, &record);
  AppendVarint(id, &record);
  AppendKey(key_columns, &record);
  AppendString(row->Serialize(), &record);
  AppendVarint(merge.size(), &record);
  for (const auto& [column, function] : merge) {
    AppendString(column, &record);
    AppendString(MergeFunctionName(function), &record);
  }
  SealRecord(&record);
  return record;
}

Result<TableSchema> TableSchema::Parse(std::string_view name, std::string_view record) {
  Result<TableSchema> schema = ParseBytes(record);
  if (!schema.ok()) return schema.status().WithContext("table '" + std::string(name) + "'");
  schema->name = std::string(name);
  return schema;
}

std::string TableSchema::family() const { return "t" + std::to_string(id); }

std::vector<MergeFunction> TableSchema::functions() const {
  std::vector<MergeFunction> functions;
  for (const Field& field : row->columns().fields) {
    auto found = merge.find(field.name);
    functions.push_back(found == merge.end() ? MergeFunction::kReplace : found->second);
  }
  return functions;
}

Schema TableSchema::columns() const {
  Schema all = key.schema();
  for (const Field& field : row->columns().fields) all.fields.push_back(field);
  return all;
}

}  // namespace flint
