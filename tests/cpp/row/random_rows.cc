#include "row/random_rows.h"

#include <utility>

namespace flint::testing {
namespace {

constexpr TypeId kScalars[] = {
    TypeId::kNull,        TypeId::kBool,       TypeId::kInt8,        TypeId::kInt16,
    TypeId::kInt32,       TypeId::kInt64,      TypeId::kUInt8,       TypeId::kUInt16,
    TypeId::kUInt32,      TypeId::kUInt64,     TypeId::kFloat16,     TypeId::kFloat32,
    TypeId::kFloat64,     TypeId::kDecimal128, TypeId::kDecimal256,  TypeId::kString,
    TypeId::kLargeString, TypeId::kBinary,     TypeId::kLargeBinary, TypeId::kFixedBinary,
    TypeId::kDate32,      TypeId::kDate64,     TypeId::kTime32,      TypeId::kTime64,
    TypeId::kTimestamp,   TypeId::kDuration};

DataType RandomScalar(Random& random) {
  DataType type(kScalars[Upto(random, std::size(kScalars) - 1)]);
  if (type.id == TypeId::kDecimal128 || type.id == TypeId::kDecimal256) type.precision = 20;
  if (type.id == TypeId::kFixedBinary) type.size = static_cast<int32_t>(Upto(random, 20));
  if (type.id == TypeId::kTime64) type.unit = TimeUnit::kMicro;
  if (type.id == TypeId::kTimestamp) type.unit = static_cast<TimeUnit>(Upto(random, 3));
  return type;
}

Field RandomField(Random& random, std::string name, int depth, bool may_be_null = true) {
  return {std::move(name), RandomType(random, depth), may_be_null && Upto(random, 2) > 0};
}

void AppendElements(Random& random, const DataType& type, ColumnBuilder* out) {
  int64_t count = type.id == TypeId::kFixedList ? type.size : Upto(random, 5);
  for (int64_t i = 0; i < count; ++i) AppendRandom(random, type.children[0], &out->child(0));
  out->FinishRow();
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (char byte : bytes) {
    text += "0123456789abcdef"[static_cast<uint8_t>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

}  // namespace

DataType RandomType(Random& random, int depth) {
  int64_t shape = depth > 0 ? Upto(random, 9) : 9;
  if (shape > 3) return RandomScalar(random);
  constexpr TypeId kNested[] = {TypeId::kStruct, TypeId::kList, TypeId::kFixedList, TypeId::kMap};
  DataType type(kNested[shape]);
  if (type.id == TypeId::kStruct) {
    for (int64_t k = Upto(random, 4); k > 0; --k) {
      type.children.push_back(RandomField(random, "f" + std::to_string(k), depth - 1));
    }
  } else if (type.id == TypeId::kMap) {
    Field entry{"entries", DataType(TypeId::kStruct), false};
    entry.type.children.push_back(RandomField(random, "key", depth - 1, false));
    entry.type.children.push_back(RandomField(random, "value", depth - 1));
    type.children.push_back(entry);
  } else {
    if (type.id == TypeId::kFixedList) type.size = static_cast<int32_t>(Upto(random, 4));
    type.children.push_back(RandomField(random, "item", depth - 1));
  }
  return type;
}

Schema RandomSchema(Random& random, int columns_max) {
  Schema schema;
  for (int64_t k = Upto(random, columns_max); k > 0; --k) {
    schema.fields.push_back(RandomField(random, "c" + std::to_string(k), 3));
  }
  return schema;
}

void AppendRandom(Random& random, const Field& field, ColumnBuilder* out) {
  const DataType& type = field.type;
  if (type.id == TypeId::kNull || (field.nullable && Upto(random, 3) == 0)) {
    return out->AppendNull();
  }
  if (type.id == TypeId::kBool) return out->AppendBool(Upto(random, 1) == 1);
  if (type.IsList()) return AppendElements(random, type, out);
  if (type.id == TypeId::kStruct) {
    for (size_t k = 0; k < type.children.size(); ++k) {
      AppendRandom(random, type.children[k], &out->child(k));
    }
    return out->FinishRow();
  }
  std::string bytes(static_cast<size_t>(type.IsBytes() ? Upto(random, 12) : type.FixedWidth()), 0);
  for (char& byte : bytes) byte = static_cast<char>(Upto(random, 127));
  type.IsBytes() ? out->AppendBytes(bytes) : out->AppendSlot(bytes.data());
}

std::string Text(const ColumnView& column, int64_t row) {
  if (column.IsNull(row)) return "null";
  const DataType& type = column.type();
  if (type.id == TypeId::kDictionary) return Text(column.child(0), column.DictionaryIndex(row));
  if (type.id == TypeId::kBool) return column.Bool(row) ? "true" : "false";
  std::string text;
  if (type.id == TypeId::kStruct) {
    for (size_t k = 0; k < type.children.size(); ++k) text += Text(column.child(k), row) + ", ";
    return "{" + text + "}";
  }
  if (type.IsList()) {
    auto [first, last] = column.ListRange(row);
    for (int64_t i = first; i < last; ++i) text += Text(column.child(0), i) + ", ";
    return "[" + text + "]";
  }
  if (type.IsBytes()) return "'" + Hex(column.Bytes(row)) + "'";
  return Hex({column.Slot(row), static_cast<size_t>(type.FixedWidth())});
}

std::vector<std::string> OwnedBatch::Texts() const {
  std::vector<std::string> texts(static_cast<size_t>(view.num_rows));
  for (int64_t i = 0; i < view.num_rows; ++i) {
    for (const ColumnView& column : view.columns) {
      texts[static_cast<size_t>(i)] += Text(column, i) + " | ";
    }
  }
  return texts;
}

OwnedBatch RandomBatch(Random& random, const Schema& schema, int64_t rows) {
  BatchBuilder builder(schema);
  for (size_t k = 0; k < schema.size(); ++k) {
    for (int64_t i = 0; i < rows; ++i) AppendRandom(random, schema[k], &builder.column(k));
  }
  return {schema, builder.Finish(rows)};
}

Field FieldOf(std::string name, TypeId id, bool nullable) {
  return {std::move(name), DataType(id), nullable};
}

Field StructOf(std::string name, std::vector<Field> fields, bool nullable) {
  Field field{std::move(name), DataType(TypeId::kStruct), nullable};
  field.type.children = std::move(fields);
  return field;
}

Field ListOf(std::string name, Field element, bool nullable) {
  Field field{std::move(name), DataType(TypeId::kList), nullable};
  field.type.children.push_back(std::move(element));
  return field;
}

}  // namespace flint::testing
