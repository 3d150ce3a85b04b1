#include "row/row_schema.h"

#include <unordered_set>
#include <utility>

#include "base/checksum.h"
#include "base/schema_bytes.h"
#include "row/value_view.h"

namespace flint {
namespace {

constexpr std::string_view kMagic = "flrs";
constexpr uint64_t kFormat = 1;
constexpr size_t kVersionsMax = 256;
constexpr size_t kChecksumBytes = 4;

Status DamagedHistory() {
  return Status::Corruption("the stored schema history of a table is damaged");
}

std::string Described(const Field& field) {
  return field.type.ToString() + (field.nullable ? "" : " not null");
}

// The bytes of a fill as those of a wider column.
std::string Widened(const RowColumn& column, Widening widening, const DataType& to) {
  if (widening == Widening::kNone) return *column.fill;
  std::string wide(static_cast<size_t>(to.FixedWidth()), '\0');
  Widen(widening, *column.fill, to.FixedWidth(), wide.data());
  return wide;
}

Result<RowColumn> Evolved(const RowColumn& old, const Field& wanted) {
  Widening widening = WideningOf(old.field.type, wanted.type);
  bool stricter = old.field.nullable && !wanted.nullable;
  if (widening == Widening::kRefused || stricter ||
      (widening == Widening::kNull && !wanted.nullable)) {
    return Status::Invalid("column '" + wanted.name + "' is stored as " + Described(old.field) +
                           " and can't become " + Described(wanted) +
                           ": a column can be widened without loss and made nullable; for "
                           "anything else add a column of another name");
  }
  RowColumn column{old.id, wanted, std::nullopt};
  if (old.fill.has_value()) column.fill = Widened(old, widening, wanted.type);
  return column;
}

Result<RowColumn> Added(uint32_t id, const Field& wanted,
                        const std::vector<ColumnDefault>& defaults) {
  RowColumn column{id, wanted, std::nullopt};
  for (const ColumnDefault& given : defaults) {
    if (given.column == wanted.name) column.fill = given.value;
  }
  if (!column.fill.has_value() && !wanted.nullable) {
    return Status::Invalid("column '" + wanted.name + "' (" + Described(wanted) +
                           ") is new: rows that are stored already need a default for it, or it "
                           "must be nullable");
  }
  return column;
}

Status CheckNames(const std::vector<RowColumn>& columns) {
  std::unordered_set<std::string_view> seen;
  for (const RowColumn& column : columns) {
    if (!seen.insert(column.field.name).second) {
      return Status::Invalid("two columns are called '" + column.field.name + "'");
    }
  }
  return Status();
}

// A fill has the width that its type says; that a list in it is whole is seen when it is read.
Status CheckFills(const RowVersion& version) {
  for (size_t k = 0; k < version.columns.size(); ++k) {
    const std::optional<std::string>& fill = version.columns[k].fill;
    const ValueLayout& value = version.layout.members[k].value;
    if (fill.has_value() && value.fixed && fill->size() != value.width) {
      return Status::Invalid("the default of column '" + version.columns[k].field.name + "' has " +
                             std::to_string(fill->size()) + " bytes, not the " +
                             std::to_string(value.width) + " of " + value.type.ToString());
    }
  }
  return Status();
}

Field PlainField(const Field& field) { return {field.name, field.type.Plain(), field.nullable}; }

Result<RowColumn> TakeColumn(ByteReader* reader) {
  RowColumn column;
  FLINT_ASSIGN_OR_RETURN(uint64_t id, reader->Varint());
  FLINT_ASSIGN_OR_RETURN(column.field, reader->TakeField());
  FLINT_ASSIGN_OR_RETURN(uint64_t filled, reader->Varint());
  if (filled > 1 || id > UINT32_MAX) return DamagedHistory();
  if (filled == 1) {
    FLINT_ASSIGN_OR_RETURN(std::string_view fill, reader->String());
    column.fill = std::string(fill);
  }
  column.id = static_cast<uint32_t>(id);
  return column;
}

std::vector<ColumnSource> SourcesIn(const RowVersion& version, const RowVersion& current) {
  std::vector<ColumnSource> sources;
  for (const RowColumn& column : current.columns) {
    ColumnSource source;
    for (size_t k = 0; k < version.columns.size(); ++k) {
      if (version.columns[k].id != column.id) continue;
      source.member = static_cast<int>(k);
      source.widening = WideningOf(version.columns[k].field.type, column.field.type);
    }
    sources.push_back(source);
  }
  return sources;
}

}  // namespace

Result<std::shared_ptr<const RowSchema>> RowSchema::Make(const Schema& columns) {
  auto schema = std::make_shared<RowSchema>();
  std::vector<RowColumn> made;
  for (const Field& field : columns.fields) {
    made.push_back({schema->next_id_++, PlainField(field), std::nullopt});
  }
  FLINT_RETURN_IF_ERROR(schema->AddVersion(std::move(made)));
  return Finished(std::move(schema));
}

Result<std::shared_ptr<const RowSchema>> RowSchema::Evolve(
    const Schema& wanted, const std::vector<ColumnDefault>& defaults) const {
  auto evolved = std::make_shared<RowSchema>(*this);
  std::vector<RowColumn> columns;
  for (const Field& field : wanted.fields) {
    Field plain = PlainField(field);
    int at = columns_.IndexOf(field.name);
    Result<RowColumn> column = at >= 0 ? Evolved(current().columns[static_cast<size_t>(at)], plain)
                                       : Added(evolved->next_id_++, plain, defaults);
    if (!column.ok()) return column.status();
    columns.push_back(*std::move(column));
  }
  Schema plain;
  for (const RowColumn& column : columns) plain.fields.push_back(column.field);
  if (plain == columns_) return std::make_shared<const RowSchema>(*this);
  if (versions_.size() == kVersionsMax) {
    return Status::Invalid("the table's columns have changed " + std::to_string(kVersionsMax - 1) +
                           " times, which is all that its rows can tell apart: copy it to a new "
                           "table");
  }
  FLINT_RETURN_IF_ERROR(evolved->AddVersion(std::move(columns)));
  return Finished(std::move(evolved));
}

Status RowSchema::AddVersion(std::vector<RowColumn> columns) {
  RowVersion version{std::move(columns), {}};
  columns_.fields.clear();
  for (const RowColumn& column : version.columns) columns_.fields.push_back(column.field);
  FLINT_RETURN_IF_ERROR(CheckNames(version.columns));
  FLINT_ASSIGN_OR_RETURN(version.layout, TupleLayout::Make(columns_.fields));
  FLINT_RETURN_IF_ERROR(CheckFills(version));
  versions_.push_back(std::move(version));
  return Status();
}

std::shared_ptr<const RowSchema> RowSchema::Finished(std::shared_ptr<RowSchema> schema) {
  schema->sources_.clear();
  for (const RowVersion& version : schema->versions_) {
    schema->sources_.push_back(SourcesIn(version, schema->current()));
  }
  return schema;
}

std::string RowSchema::Serialize() const {
  std::string out(kMagic);
  AppendVarint(kFormat, &out);
  AppendVarint(next_id_, &out);
  AppendVarint(versions_.size(), &out);
  for (const RowVersion& version : versions_) {
    AppendVarint(version.columns.size(), &out);
    for (const RowColumn& column : version.columns) {
      AppendVarint(column.id, &out);
      AppendField(column.field, &out);
      AppendVarint(column.fill.has_value() ? 1 : 0, &out);
      if (column.fill.has_value()) AppendString(*column.fill, &out);
    }
  }
  uint32_t checksum = Crc32c(out);
  out.append(reinterpret_cast<const char*>(&checksum), kChecksumBytes);
  return out;
}

Result<std::shared_ptr<const RowSchema>> RowSchema::Parse(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kChecksumBytes) {
    return DamagedHistory();
  }
  std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (LoadUnaligned<uint32_t>(body.data() + body.size()) != Crc32c(body)) return DamagedHistory();
  ByteReader reader(body.substr(kMagic.size()));
  FLINT_ASSIGN_OR_RETURN(uint64_t format, reader.Varint());
  if (format != kFormat) {
    return Status::Invalid("the table's schema history has format " + std::to_string(format) +
                           ", this flintstate reads " + std::to_string(kFormat) +
                           ": open it with the one that wrote it");
  }
  auto schema = std::make_shared<RowSchema>();
  FLINT_ASSIGN_OR_RETURN(uint64_t next_id, reader.Varint());
  FLINT_ASSIGN_OR_RETURN(uint64_t versions, reader.Varint());
  if (versions == 0 || versions > kVersionsMax) return DamagedHistory();
  schema->next_id_ = static_cast<uint32_t>(next_id);
  for (uint64_t v = 0; v < versions; ++v) {
    FLINT_ASSIGN_OR_RETURN(uint64_t count, reader.Varint());
    std::vector<RowColumn> columns;
    for (uint64_t k = 0; k < count; ++k) {
      Result<RowColumn> column = TakeColumn(&reader);
      if (!column.ok()) return DamagedHistory();
      columns.push_back(*std::move(column));
    }
    if (!schema->AddVersion(std::move(columns)).ok()) return DamagedHistory();
  }
  if (!reader.empty()) return DamagedHistory();
  return Finished(std::move(schema));
}

}  // namespace flint
