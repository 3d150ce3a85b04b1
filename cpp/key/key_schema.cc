#include "key/key_schema.h"

#include <algorithm>
#include <utility>

#include "base/arrow_cast.h"
#include "base/find_column.h"

namespace flint {
namespace {

constexpr uint8_t kNullFirst = 1;
constexpr uint8_t kNullLast = 3;
constexpr int64_t kWidthMax = int64_t{1} << 30;  // of all columns of fixed width together

std::string Described(const KeyPart& part, std::string_view what) {
  return "key column '" + part.path + "' (" + part.type.ToString() + "): " + std::string(what);
}

// Nothing where a value of this type can't be a key.
std::optional<KeyCode> CodeOf(const DataType& type) {
  switch (type.id) {
    case TypeId::kBool:
    case TypeId::kUInt8:
    case TypeId::kUInt16:
    case TypeId::kUInt32:
    case TypeId::kUInt64:
      return KeyCode::kUnsigned;
    case TypeId::kInt8:
    case TypeId::kInt16:
    case TypeId::kInt32:
    case TypeId::kInt64:
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
    case TypeId::kDate32:
    case TypeId::kDate64:
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
      return KeyCode::kSigned;
    case TypeId::kFloat16:
    case TypeId::kFloat32:
    case TypeId::kFloat64:
      return KeyCode::kFloat;
    case TypeId::kFixedBinary:
      return KeyCode::kRaw;
    case TypeId::kStruct:
      return KeyCode::kStruct;
    case TypeId::kFixedList:
      return KeyCode::kFixedList;
    case TypeId::kList:
    case TypeId::kLargeList:
      return KeyCode::kList;
    default:
      return type.IsBytes() ? std::optional(KeyCode::kBytes) : std::nullopt;
  }
}

// What the parts of one column have in common.
struct Traits {
  bool descending;
  NullOrder nulls;
};

Result<KeyPart> MakePart(const Field& field, std::string path, const Traits& traits);

std::string ChildPath(const KeyPart& part, const Field& child) {
  return part.code == KeyCode::kStruct ? part.path + "." + child.name : part.path + "[]";
}

// Width of a part whose children are made.
int64_t WidthOf(const KeyPart& part) {
  if (part.code == KeyCode::kBytes || part.code == KeyCode::kList) return KeyPart::kVariable;
  if (part.type.id == TypeId::kBool) return 1;
  if (part.code != KeyCode::kStruct && part.code != KeyCode::kFixedList) {
    return part.type.FixedWidth();
  }
  int64_t width = 0;
  for (const KeyPart& child : part.children) {
    if (!child.fixed()) return KeyPart::kVariable;
    width += child.stride();
  }
  return part.code == KeyCode::kFixedList ? width * part.type.size : width;
}

Status MakeChildren(const Traits& traits, KeyPart* part) {
  for (const Field& field : part->type.children) {
    FLINT_ASSIGN_OR_RETURN(KeyPart child, MakePart(field, ChildPath(*part, field), traits));
    if (part->code == KeyCode::kList) child.marked = true;
    part->children.push_back(std::move(child));
  }
  return Status();
}

// Of a field whose type is plain.
Result<KeyPart> MakePart(const Field& field, std::string path, const Traits& traits) {
  KeyPart part;
  part.type = field.type;
  part.path = std::move(path);
  part.nullable = part.marked = field.nullable;
  part.descending = traits.descending;
  part.null_marker = traits.nulls == NullOrder::kFirst ? kNullFirst : kNullLast;
  std::optional<KeyCode> code = CodeOf(part.type);
  if (!code) {
    return part.Invalid(
        "this type has no order and can't be part of a key; use numbers, strings, binaries, "
        "times, decimals, structs or lists of these");
  }
  part.code = *code;
  FLINT_RETURN_IF_ERROR(MakeChildren(traits, &part));
  part.width = WidthOf(part);
  if (part.width > kWidthMax) return part.Invalid("a value is larger than 1 GiB");
  return part;
}

void MakeNullable(Field* field) {
  field->nullable = true;
  for (Field& child : field->type.children) MakeNullable(&child);
}

bool IsDuplicate(const std::vector<KeyColumn>& columns, size_t k) {
  for (size_t i = 0; i < k; ++i) {
    if (columns[i].field.name == columns[k].field.name) return true;
  }
  return false;
}

}  // namespace

Status KeyPart::Invalid(std::string_view what) const {
  return Status::Invalid(Described(*this, what));
}

Status KeyPart::Corruption(std::string_view what) const {
  return Status::Corruption(Described(*this, what));
}

Result<KeySchema> KeySchema::Make(std::vector<KeyColumn> columns, End end) {
  if (columns.empty()) return Status::Invalid("a key needs at least one column");
  KeySchema schema;
  for (size_t k = 0; k < columns.size(); ++k) {
    KeyColumn& column = columns[k];
    Traits traits{column.descending, column.nulls};
    column.field.type = column.field.type.Plain();
    FLINT_ASSIGN_OR_RETURN(KeyPart part, MakePart(column.field, column.field.name, traits));
    if (IsDuplicate(columns, k)) return part.Invalid("another key column has the same name");
    schema.schema_.fields.push_back({column.field.name, part.type, column.field.nullable});
    schema.parts_.push_back(std::move(part));
  }
  KeyPart& last = schema.parts_.back();
  if (end == End::kOpen && last.code == KeyCode::kBytes && !last.descending) {
    last.code = KeyCode::kOpenBytes;
  }
  return schema;
}

Result<KeySchema> KeySchema::Make(const Schema& schema, const std::vector<std::string>& descending,
                                  NullOrder nulls, End end) {
  std::vector<KeyColumn> columns;
  for (const Field& field : schema.fields) columns.push_back({field, false, nulls});
  for (const std::string& name : descending) {
    int at = schema.IndexOf(name);
    if (at < 0) {
      return Status::Invalid("descending names '" + name + "', which is no key column (they are " +
                             schema.ToString() + ")");
    }
    columns[static_cast<size_t>(at)].descending = true;
  }
  return Make(std::move(columns), end);
}

Result<KeySchema> KeySchema::Canonical(const Schema& schema) {
  Schema nullable = schema;
  for (Field& field : nullable.fields) MakeNullable(&field);
  return Make(nullable, {}, NullOrder::kFirst, End::kTerminated);
}

std::optional<int64_t> KeySchema::FixedWidth(size_t columns) const {
  int64_t width = 0;
  for (size_t k = 0; k < columns; ++k) {
    if (!parts_[k].fixed()) return std::nullopt;
    width += parts_[k].stride();
  }
  return width;
}

Result<SelectedColumns> KeySchema::Select(const BatchView& batch) const {
  SelectedColumns columns;
  for (const KeyPart& part : parts_) {
    auto found = FindColumn(batch.schema, part.path);
    if (!found.ok()) return part.Invalid(found.status().message());
    const int at = *found;
    if (at < 0) {
      return part.Invalid("there is no such column in the batch (" + batch.schema.ToString() + ")");
    }
    const ColumnView& column = batch.columns[static_cast<size_t>(at)];
    if (column.type().SameValues(part.type)) {
      columns.views.push_back(column);
      continue;
    }
    if (!MayCast(column.type(), part.type)) {
      return part.Invalid("the batch has it as " + column.type().ToString() +
                          ": cast it to the key's type");
    }
    auto cast = CastExactly(column, part.type);
    if (!cast.ok()) return part.Invalid(cast.status().message());
    columns.cast.push_back(*std::move(cast));
    FLINT_ASSIGN_OR_RETURN(auto view, ColumnView::Make(part.type, *columns.cast.back()));
    columns.views.push_back(std::move(view));
  }
  return columns;
}

std::optional<std::string> KeySchema::After(std::string_view prefix, size_t columns) const {
  if (columns == size() && parts_.back().code == KeyCode::kOpenBytes) {
    return std::string(prefix) + '\0';
  }
  return PrefixSuccessor(prefix);
}

std::optional<std::string> PrefixSuccessor(std::string_view prefix) {
  size_t kept = prefix.find_last_not_of('\xFF');
  if (kept == std::string_view::npos) return std::nullopt;
  std::string successor(prefix.substr(0, kept + 1));
  ++successor.back();
  return successor;
}

}  // namespace flint
