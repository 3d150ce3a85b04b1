#include "base/arrow_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace flint {
namespace {

struct PlainFormat {
  std::string_view format;
  TypeId id;
  std::string_view name;
  int32_t width;  // bytes of a slot; 0: not of fixed width, or decided by parameters
};

// Types that a format string names without parameters.
constexpr std::array<PlainFormat, 24> kPlainFormats{{
    {"n", TypeId::kNull, "null", 0},
    {"b", TypeId::kBool, "bool", 0},
    {"c", TypeId::kInt8, "int8", 1},
    {"C", TypeId::kUInt8, "uint8", 1},
    {"s", TypeId::kInt16, "int16", 2},
    {"S", TypeId::kUInt16, "uint16", 2},
    {"i", TypeId::kInt32, "int32", 4},
    {"I", TypeId::kUInt32, "uint32", 4},
    {"l", TypeId::kInt64, "int64", 8},
    {"L", TypeId::kUInt64, "uint64", 8},
    {"e", TypeId::kFloat16, "halffloat", 2},
    {"f", TypeId::kFloat32, "float", 4},
    {"g", TypeId::kFloat64, "double", 8},
    {"u", TypeId::kString, "string", 0},
    {"U", TypeId::kLargeString, "large_string", 0},
    {"vu", TypeId::kStringView, "string_view", 0},
    {"z", TypeId::kBinary, "binary", 0},
    {"Z", TypeId::kLargeBinary, "large_binary", 0},
    {"vz", TypeId::kBinaryView, "binary_view", 0},
    {"tdD", TypeId::kDate32, "date32[day]", 4},
    {"tdm", TypeId::kDate64, "date64[ms]", 8},
    {"+s", TypeId::kStruct, "struct", 0},
    {"+l", TypeId::kList, "list", 0},
    {"+L", TypeId::kLargeList, "large_list", 0},
}};

constexpr std::string_view kUnitLetters = "smun";
constexpr std::array<std::string_view, 4> kUnitNames = {"s", "ms", "us", "ns"};

const PlainFormat* FindPlain(TypeId id) {
  for (const PlainFormat& plain : kPlainFormats) {
    if (plain.id == id) return &plain;
  }
  return nullptr;
}

bool ParseInt(std::string_view* text, int32_t* out) {
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *out);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  if (!text->empty() && text->front() == ',') text->remove_prefix(1);
  return true;
}

bool ParseUnit(char letter, TimeUnit* unit) {
  size_t at = kUnitLetters.find(letter);
  if (at == std::string_view::npos) return false;
  *unit = static_cast<TimeUnit>(at);
  return true;
}

// "d:precision,scale[,bits]"
bool ParseDecimal(std::string_view rest, DataType* type) {
  int32_t bits = 128;
  if (!ParseInt(&rest, &type->precision) || !ParseInt(&rest, &type->scale)) return false;
  if (!rest.empty() && !ParseInt(&rest, &bits)) return false;
  type->id = bits == 256 ? TypeId::kDecimal256 : TypeId::kDecimal128;
  return bits == 128 || bits == 256;
}

// "tt?", "ts?:zone", "tD?"
bool ParseTime(std::string_view format, DataType* type) {
  if (format.size() < 3 || !ParseUnit(format[2], &type->unit)) return false;
  switch (format[1]) {
    case 't':
      type->id = type->unit < TimeUnit::kMicro ? TypeId::kTime32 : TypeId::kTime64;
      return format.size() == 3;
    case 's':
      type->id = TypeId::kTimestamp;
      if (format.size() > 3 && format[3] == ':') type->timezone = format.substr(4);
      return true;
    case 'D':
      type->id = TypeId::kDuration;
      return format.size() == 3;
    default:
      return false;
  }
}

bool ParseFormat(std::string_view format, DataType* type) {
  for (const PlainFormat& plain : kPlainFormats) {
    if (plain.format == format) return type->id = plain.id, true;
  }
  std::string_view rest = format.size() > 2 ? format.substr(2) : std::string_view();
  if (format.starts_with("d:")) return ParseDecimal(rest, type);
  if (format.starts_with("w:")) {
    return type->id = TypeId::kFixedBinary, ParseInt(&rest, &type->size);
  }
  if (format.starts_with("+w:")) {
    rest.remove_prefix(1);
    return type->id = TypeId::kFixedList, ParseInt(&rest, &type->size);
  }
  if (format == "+m") return type->id = TypeId::kMap, true;
  return format.starts_with("t") && ParseTime(format, type);
}

std::string FormatOf(const DataType& type) {
  if (const PlainFormat* plain = FindPlain(type.id)) return std::string(plain->format);
  std::string unit(1, kUnitLetters[static_cast<size_t>(type.unit)]);
  switch (type.id) {
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
      return "d:" + std::to_string(type.precision) + "," + std::to_string(type.scale) +
             (type.id == TypeId::kDecimal256 ? ",256" : "");
    case TypeId::kFixedBinary:
      return "w:" + std::to_string(type.size);
    case TypeId::kFixedList:
      return "+w:" + std::to_string(type.size);
    case TypeId::kMap:
      return "+m";
    case TypeId::kTime32:
    case TypeId::kTime64:
      return "tt" + unit;
    case TypeId::kTimestamp:
      return "ts" + unit + ":" + type.timezone;
    case TypeId::kDuration:
      return "tD" + unit;
    default:
      return FormatOf(type.children[0].type);  // a dictionary is exported as its index
  }
}

std::string ChildrenToString(const DataType& type) {
  std::string text;
  for (const Field& child : type.children) {
    if (!text.empty()) text += ", ";
    text += child.name + ": " + child.type.ToString() + (child.nullable ? "" : " not null");
  }
  return text;
}

bool IsInteger(TypeId id) { return id >= TypeId::kInt8 && id <= TypeId::kUInt64; }

bool SameUnnamed(const std::vector<Field>& a, const std::vector<Field>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Field& x, const Field& y) {
    return x.nullable == y.nullable && x.type == y.type;
  });
}

// Nobody vouches for a schema that comes from elsewhere: what the code takes for granted is
// checked.
Status CheckShape(const DataType& type) {
  bool one_child = type.IsList();
  bool shaped = type.size >= 0;
  if (one_child) {
    shaped = shaped && type.children.size() == 1;
  } else if (type.id != TypeId::kStruct) {
    shaped = shaped && type.children.empty();
  }
  if (shaped && type.id == TypeId::kMap) {
    const DataType& entries = type.children[0].type;
    shaped = entries.id == TypeId::kStruct && entries.children.size() == 2;
  }
  if (shaped) return Status();
  return Status::Invalid("malformed Arrow schema: a type of format '" + FormatOf(type) + "' with " +
                         std::to_string(type.children.size()) + " children");
}

Result<Field> ReadField(const ArrowSchema& schema, int depth);

Status ReadChildren(const ArrowSchema& schema, int depth, DataType* type) {
  for (int64_t i = 0; i < schema.n_children; ++i) {
    if (schema.children == nullptr || schema.children[i] == nullptr) {
      return Status::Invalid("malformed Arrow schema: a child is missing");
    }
    FLINT_ASSIGN_OR_RETURN(Field child, ReadField(*schema.children[i], depth + 1));
    type->children.push_back(std::move(child));
  }
  return CheckShape(*type);
}

Result<DataType> ReadType(const ArrowSchema& schema, int depth) {
  if (depth > kTypeDepthMax) {
    return Status::Invalid("a type nests more than " + std::to_string(kTypeDepthMax) +
                           " levels deep");
  }
  DataType type;
  if (schema.format == nullptr) return Status::Invalid("malformed Arrow schema: without a format");
  if (!ParseFormat(schema.format, &type)) {
    return Status::Invalid(std::string("the Arrow type with format '") + schema.format +
                           "' is not supported (unions, intervals, run-end encoded and list-view "
                           "columns are not): cast the column first");
  }
  FLINT_RETURN_IF_ERROR(ReadChildren(schema, depth, &type));
  if (schema.dictionary == nullptr) return type;
  if (!IsInteger(type.id)) {
    return Status::Invalid("malformed Arrow schema: a dictionary has indices of type " +
                           type.ToString());
  }
  FLINT_ASSIGN_OR_RETURN(DataType value, ReadType(*schema.dictionary, depth + 1));
  DataType dictionary(TypeId::kDictionary);
  dictionary.children.push_back({"index", std::move(type), true});
  dictionary.children.push_back({"value", std::move(value), true});
  return dictionary;
}

// What is too deep is named once, by its outermost column.
Result<Field> ReadField(const ArrowSchema& schema, int depth) {
  std::string name = schema.name != nullptr ? schema.name : "";
  Result<DataType> type = ReadType(schema, depth);
  if (!type.ok())
    return depth == 1 ? type.status().WithContext("column '" + name + "'") : type.status();
  return Field{std::move(name), *std::move(type), (schema.flags & ARROW_FLAG_NULLABLE) != 0};
}

// What an exported ArrowSchema owns.
struct ExportedSchema {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  ArrowSchema dictionary{};

  ~ExportedSchema() {
    for (ArrowSchema& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
    if (dictionary.release != nullptr) dictionary.release(&dictionary);
  }
};

void ReleaseExported(ArrowSchema* schema) {
  delete static_cast<ExportedSchema*>(schema->private_data);
  schema->release = nullptr;
}

}  // namespace

Result<DataType> DataType::FromArrow(const ArrowSchema& schema) { return ReadType(schema, 1); }

std::string DataType::ToString() const {
  std::string_view unit_name = kUnitNames[static_cast<size_t>(unit)];
  auto bracket = [](std::string_view name, std::string_view inside) {
    return std::string(name) + "[" + std::string(inside) + "]";
  };
  switch (id) {
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
      return std::string(id == TypeId::kDecimal128 ? "decimal128(" : "decimal256(") +
             std::to_string(precision) + ", " + std::to_string(scale) + ")";
    case TypeId::kFixedBinary:
      return "fixed_size_binary[" + std::to_string(size) + "]";
    case TypeId::kTime32:
      return bracket("time32", unit_name);
    case TypeId::kTime64:
      return bracket("time64", unit_name);
    case TypeId::kDuration:
      return bracket("duration", unit_name);
    case TypeId::kTimestamp:
      return bracket("timestamp",
                     std::string(unit_name) + (timezone.empty() ? "" : ", tz=" + timezone));
    case TypeId::kFixedList:
      return "fixed_size_list<" + ChildrenToString(*this) + ">[" + std::to_string(size) + "]";
    case TypeId::kMap:
      return "map<" + ChildrenToString(children[0].type) + ">";
    case TypeId::kDictionary:
      return "dictionary<" + ChildrenToString(*this) + ">";
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kLargeList:
      return std::string(FindPlain(id)->name) + "<" + ChildrenToString(*this) + ">";
    default:
      return std::string(FindPlain(id)->name);
  }
}

// Names of a list's element and of a map's entries carry no meaning: writers choose them freely.
bool DataType::operator==(const DataType& other) const {
  if (id != other.id || unit != other.unit || timezone != other.timezone ||
      precision != other.precision || scale != other.scale || size != other.size ||
      children.size() != other.children.size()) {
    return false;
  }
  if (id == TypeId::kMap) {
    return SameUnnamed(children[0].type.children, other.children[0].type.children);
  }
  return id == TypeId::kStruct ? children == other.children : SameUnnamed(children, other.children);
}

int32_t DataType::FixedWidth() const {
  switch (id) {
    case TypeId::kDecimal128:
      return 16;
    case TypeId::kDecimal256:
      return 32;
    case TypeId::kFixedBinary:
      return size;
    case TypeId::kTime32:
      return 4;
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
      return 8;
    default: {
      const PlainFormat* plain = FindPlain(id);
      return plain != nullptr ? plain->width : 0;
    }
  }
}

bool DataType::IsString() const {
  return id == TypeId::kString || id == TypeId::kLargeString || id == TypeId::kStringView;
}

bool DataType::IsBytes() const {
  return IsString() || id == TypeId::kBinary || id == TypeId::kLargeBinary ||
         id == TypeId::kBinaryView;
}

bool DataType::IsList() const {
  return id == TypeId::kList || id == TypeId::kLargeList || id == TypeId::kFixedList ||
         id == TypeId::kMap;
}

DataType DataType::Plain() const {
  if (id == TypeId::kDictionary) return children[1].type.Plain();
  DataType plain(id);
  if (id == TypeId::kStringView) plain.id = TypeId::kString;
  if (id == TypeId::kBinaryView) plain.id = TypeId::kBinary;
  plain.unit = unit;
  plain.timezone = timezone;
  plain.precision = precision;
  plain.scale = scale;
  plain.size = size;
  plain.children.reserve(children.size());
  for (const Field& child : children) {
    plain.children.push_back({child.name, child.type.Plain(), child.nullable});
  }
  return plain;
}

bool DataType::SameValues(const DataType& other) const {
  if (id == TypeId::kDictionary) return children[1].type.SameValues(other);
  if (other.id == TypeId::kDictionary) return SameValues(other.children[1].type);
  if (IsBytes()) return other.IsBytes() && IsString() == other.IsString();
  auto variable_list = [](TypeId list) {
    return list == TypeId::kList || list == TypeId::kLargeList;
  };
  if (variable_list(id) && variable_list(other.id)) {
    return children[0].type.SameValues(other.children[0].type);
  }
  if (id != TypeId::kStruct && !IsList()) return *this == other;
  if (id != other.id || size != other.size || children.size() != other.children.size())
    return false;
  if (id == TypeId::kMap) {
    const std::vector<Field>& entry = children[0].type.children;
    const std::vector<Field>& others = other.children[0].type.children;
    return entry[0].type.SameValues(others[0].type) && entry[1].type.SameValues(others[1].type);
  }
  for (size_t k = 0; k < children.size(); ++k) {
    if (id == TypeId::kStruct && children[k].name != other.children[k].name) return false;
    if (!children[k].type.SameValues(other.children[k].type)) return false;
  }
  return true;
}

Result<Field> Field::FromArrow(const ArrowSchema& schema) { return ReadField(schema, 1); }

bool Field::operator==(const Field& other) const {
  return name == other.name && nullable == other.nullable && type == other.type;
}

Result<Schema> Schema::FromArrow(const ArrowSchema& schema) {
  std::string_view format = schema.format != nullptr ? schema.format : "";
  if (format != "+s") {
    FLINT_ASSIGN_OR_RETURN(Field field, Field::FromArrow(schema));
    return Status::Invalid("expected named columns, got a single column of " +
                           field.type.ToString() +
                           " without a name: pyarrow.schema([(name, type)]) or "
                           "pyarrow.table({name: values}) gives it one");
  }
  DataType rows(TypeId::kStruct);
  FLINT_RETURN_IF_ERROR(ReadChildren(schema, 0, &rows));
  return Schema{std::move(rows.children)};
}

int Schema::IndexOf(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string Schema::ToString() const {
  DataType row(TypeId::kStruct);
  row.children = fields;
  return ChildrenToString(row);
}

void ExportField(const Field& field, ArrowSchema* out) {
  *out = ArrowSchema{};
  auto owned = std::make_unique<ExportedSchema>();
  owned->format = FormatOf(field.type);
  owned->name = field.name;
  out->flags = field.nullable ? ARROW_FLAG_NULLABLE : 0;
  if (field.type.id == TypeId::kDictionary) {
    ExportField(field.type.children[1], &owned->dictionary);
    out->dictionary = &owned->dictionary;
  } else {
    owned->children.resize(field.type.children.size());
    for (size_t i = 0; i < owned->children.size(); ++i) {
      ExportField(field.type.children[i], &owned->children[i]);
      owned->child_pointers.push_back(&owned->children[i]);
    }
  }
  out->format = owned->format.c_str();
  out->name = owned->name.c_str();
  out->n_children = static_cast<int64_t>(owned->child_pointers.size());
  out->children = owned->child_pointers.data();
  out->release = ReleaseExported;
  out->private_data = owned.release();
}

void ExportSchema(const Schema& schema, ArrowSchema* out) {
  Field row{"", DataType(TypeId::kStruct), false};
  row.type.children = schema.fields;
  ExportField(row, out);
}

}  // namespace flint
