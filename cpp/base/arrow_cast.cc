#include "base/arrow_cast.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/arrow_builder.h"

namespace flint {
namespace {

__extension__ using Wide = __int128;
constexpr int kDigits = 38;  // of a decimal128
constexpr int64_t kDayNanos = 86'400'000'000'000;

enum class How : uint8_t {
  kSame,
  kNull,
  kInteger,
  kFloatToInteger,
  kToFloat,
  kDecimal,
  kStruct,
  kList
};

// How values of a type become another's.
struct Cast {
  explicit Cast(How of) : how(of) {}

  How how;
  Wide multiply = 1;  // integers and decimals: by this, or
  Wide divide = 1;    // by that, without a rest
  Wide bound = 0;     // decimals: what is beyond it has too many digits
  std::vector<Cast> children;
  std::vector<size_t> places;  // struct: where its fields are in what is given
};

bool IsInteger(TypeId id) { return id >= TypeId::kInt8 && id <= TypeId::kUInt64; }
bool IsFloat(TypeId id) { return id == TypeId::kFloat32 || id == TypeId::kFloat64; }
bool IsDate(TypeId id) { return id == TypeId::kDate32 || id == TypeId::kDate64; }
bool IsTime(TypeId id) { return id == TypeId::kTime32 || id == TypeId::kTime64; }

// Whether both count time from the same, in whatever unit. An instant is one in every zone.
bool CountAlike(const DataType& from, const DataType& to) {
  if (from.id == TypeId::kTimestamp && to.id == TypeId::kTimestamp) {
    return from.timezone.empty() == to.timezone.empty();
  }
  return (from.id == TypeId::kDuration && to.id == TypeId::kDuration) ||
         (IsDate(from.id) && IsDate(to.id)) || (IsTime(from.id) && IsTime(to.id));
}

int64_t NanosOf(const DataType& type) {
  if (type.id == TypeId::kDate32) return kDayNanos;
  if (type.id == TypeId::kDate64) return 1'000'000;
  constexpr int64_t kNanos[] = {1'000'000'000, 1'000'000, 1'000, 1};
  return kNanos[static_cast<size_t>(type.unit)];
}

Wide PowerOfTen(int exponent) {
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

Cast PlanTime(const DataType& from, const DataType& to) {
  Cast cast(How::kInteger);
  const int64_t given = NanosOf(from), wanted = NanosOf(to);
  cast.multiply = given > wanted ? given / wanted : 1;
  cast.divide = wanted > given ? wanted / given : 1;
  return cast;
}

// Integers have no digits behind the point.
std::optional<Cast> PlanDecimal(const DataType& from, const DataType& to) {
  const int up = to.scale - (from.id == TypeId::kDecimal128 ? from.scale : 0);
  if (up > kDigits || -up > kDigits) return std::nullopt;
  Cast cast(How::kDecimal);
  cast.multiply = PowerOfTen(up > 0 ? up : 0);
  cast.divide = PowerOfTen(up < 0 ? -up : 0);
  cast.bound = PowerOfTen(to.precision);
  return cast;
}

std::optional<Cast> Plan(const DataType& from, const DataType& to);

std::optional<Cast> PlanStruct(const DataType& from, const DataType& to) {
  if (from.children.size() != to.children.size()) return std::nullopt;
  Cast cast(How::kStruct);
  const Schema given{from.children};
  for (const Field& field : to.children) {
    const int at = given.IndexOf(field.name);
    if (at < 0) return std::nullopt;
    auto child = Plan(given[static_cast<size_t>(at)].type, field.type);
    if (!child) return std::nullopt;
    cast.children.push_back(*std::move(child));
    cast.places.push_back(static_cast<size_t>(at));
  }
  return cast;
}

// A map is a list of entries, whose fields' names mean nothing.
std::optional<Cast> PlanList(const DataType& from, const DataType& to) {
  const bool maps = to.id == TypeId::kMap;
  const bool sized = to.id == TypeId::kFixedList;
  if (maps != (from.id == TypeId::kMap)) return std::nullopt;
  if (sized && (from.id != TypeId::kFixedList || from.size != to.size)) return std::nullopt;
  DataType element = from.children[0].type;
  for (size_t k = 0; maps && k < element.children.size(); ++k) {
    element.children[k].name = to.children[0].type.children[k].name;
  }
  auto child = Plan(element, to.children[0].type);
  if (!child) return std::nullopt;
  Cast cast(How::kList);
  cast.children.push_back(*std::move(child));
  return cast;
}

std::optional<Cast> Plan(const DataType& from, const DataType& to) {
  if (from.id == TypeId::kDictionary) return Plan(from.children[1].type, to);
  if (to.id == TypeId::kDictionary) return Plan(from, to.children[1].type);
  if (from.id == TypeId::kNull) return Cast(How::kNull);
  if (from.id == TypeId::kStruct && to.id == TypeId::kStruct) return PlanStruct(from, to);
  if (from.IsList() && to.IsList()) return PlanList(from, to);
  if (from.SameValues(to)) return Cast(How::kSame);
  if (CountAlike(from, to)) return PlanTime(from, to);
  if (IsInteger(from.id) && IsInteger(to.id)) return Cast(How::kInteger);
  if (IsFloat(from.id) && IsInteger(to.id)) return Cast(How::kFloatToInteger);
  if ((IsFloat(from.id) || IsInteger(from.id)) && IsFloat(to.id)) return Cast(How::kToFloat);
  if ((IsInteger(from.id) || from.id == TypeId::kDecimal128) && to.id == TypeId::kDecimal128) {
    return PlanDecimal(from, to);
  }
  return std::nullopt;
}

Wide IntegerAt(const ColumnView& column, int64_t i) {
  switch (column.type().id) {
    case TypeId::kInt8:
      return column.Values<int8_t>()[i];
    case TypeId::kUInt8:
      return column.Values<uint8_t>()[i];
    case TypeId::kInt16:
      return column.Values<int16_t>()[i];
    case TypeId::kUInt16:
      return column.Values<uint16_t>()[i];
    case TypeId::kInt32:
    case TypeId::kDate32:
    case TypeId::kTime32:
      return column.Values<int32_t>()[i];
    case TypeId::kUInt32:
      return column.Values<uint32_t>()[i];
    case TypeId::kUInt64:
      return column.Values<uint64_t>()[i];
    case TypeId::kDecimal128: {
      Wide value;
      std::memcpy(&value, column.Slot(i), sizeof value);
      return value;
    }
    default:
      return column.Values<int64_t>()[i];
  }
}

double FloatAt(const ColumnView& column, int64_t i) {
  if (column.type().id == TypeId::kFloat32) return column.Values<float>()[i];
  return column.Values<double>()[i];
}

template <class T>
bool AppendAs(Wide value, ColumnBuilder* to) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
  to->Append(static_cast<T>(value));
  return true;
}

bool AppendInteger(Wide value, ColumnBuilder* to) {
  switch (to->type().id) {
    case TypeId::kInt8:
      return AppendAs<int8_t>(value, to);
    case TypeId::kUInt8:
      return AppendAs<uint8_t>(value, to);
    case TypeId::kInt16:
      return AppendAs<int16_t>(value, to);
    case TypeId::kUInt16:
      return AppendAs<uint16_t>(value, to);
    case TypeId::kInt32:
    case TypeId::kDate32:
    case TypeId::kTime32:
      return AppendAs<int32_t>(value, to);
    case TypeId::kUInt32:
      return AppendAs<uint32_t>(value, to);
    case TypeId::kUInt64:
      return AppendAs<uint64_t>(value, to);
    default:
      return AppendAs<int64_t>(value, to);
  }
}

bool AppendScaled(const Cast& cast, Wide value, ColumnBuilder* to) {
  if (cast.divide != 1) {
    const auto given = static_cast<int64_t>(value), by = static_cast<int64_t>(cast.divide);
    return given % by == 0 && AppendInteger(given / by, to);
  }
  return AppendInteger(value * cast.multiply, to);
}

bool AppendDecimal(const Cast& cast, Wide value, ColumnBuilder* to) {
  if (value % cast.divide != 0) return false;
  value /= cast.divide;
  const Wide most = (cast.bound - 1) / cast.multiply;
  if (value > most || value < -most) return false;
  value *= cast.multiply;
  to->AppendSlot(&value);
  return true;
}

bool AppendWhole(double value, ColumnBuilder* to) {
  constexpr double kBeyond = 18446744073709551616.0;  // every integer type
  if (!(std::abs(value) < kBeyond) || std::trunc(value) != value) return false;
  return AppendInteger(static_cast<Wide>(value), to);
}

template <class T>
bool AppendFloat(const ColumnView& from, int64_t i, ColumnBuilder* to) {
  if (IsInteger(from.type().id)) {
    const Wide value = IntegerAt(from, i);
    const auto as = static_cast<T>(value);
    if (static_cast<Wide>(as) != value) return false;
    to->Append(as);
    return true;
  }
  const double value = FloatAt(from, i);
  const auto as = static_cast<T>(value);
  if (static_cast<double>(as) != value && !std::isnan(value)) return false;
  to->Append(as);
  return true;
}

// False where 32-bit offsets do not reach.
bool AppendSame(const ColumnView& from, int64_t i, ColumnBuilder* to) {
  if (from.type().id == TypeId::kBool) {
    to->AppendBool(from.Bool(i));
  } else if (!from.type().IsBytes()) {
    to->AppendSlot(from.Slot(i));
  } else {
    const std::string_view bytes = from.Bytes(i);
    if (to->data_bytes() + bytes.size() > INT32_MAX) return false;
    to->AppendBytes(bytes);
  }
  return true;
}

bool Append(const Cast& cast, const ColumnView& from, int64_t i, ColumnBuilder* to);

bool AppendStruct(const Cast& cast, const ColumnView& from, int64_t i, ColumnBuilder* to) {
  for (size_t k = 0; k < cast.children.size(); ++k) {
    if (!Append(cast.children[k], from.child(cast.places[k]), i, &to->child(k))) return false;
  }
  to->FinishRow();
  return true;
}

bool AppendList(const Cast& cast, const ColumnView& from, int64_t i, ColumnBuilder* to) {
  const auto [first, last] = from.ListRange(i);
  for (int64_t at = first; at < last; ++at) {
    if (!Append(cast.children[0], from.child(0), at, &to->child(0))) return false;
  }
  to->FinishRow();
  return true;
}

// False where the value has no equal.
bool Append(const Cast& cast, const ColumnView& from, int64_t i, ColumnBuilder* to) {
  if (from.IsNull(i)) return to->AppendNull(), true;
  if (from.type().id == TypeId::kDictionary) {
    return Append(cast, from.child(0), from.DictionaryIndex(i), to);
  }
  switch (cast.how) {
    case How::kSame:
      return AppendSame(from, i, to);
    case How::kNull:
      return to->AppendNull(), true;
    case How::kInteger:
      return AppendScaled(cast, IntegerAt(from, i), to);
    case How::kFloatToInteger:
      return AppendWhole(FloatAt(from, i), to);
    case How::kToFloat:
      return to->type().id == TypeId::kFloat32 ? AppendFloat<float>(from, i, to)
                                               : AppendFloat<double>(from, i, to);
    case How::kDecimal:
      return AppendDecimal(cast, IntegerAt(from, i), to);
    case How::kStruct:
      return AppendStruct(cast, from, i, to);
    case How::kList:
      return AppendList(cast, from, i, to);
  }
  return false;
}

std::string TextOf(const ColumnView& column, int64_t i) {
  const TypeId id = column.type().id;
  if (id == TypeId::kDictionary) return TextOf(column.child(0), column.DictionaryIndex(i));
  if (id == TypeId::kStruct || column.type().IsList() || column.type().IsBytes() ||
      column.type().IsString()) {
    return "what is in it";
  }
  if (id == TypeId::kDecimal128) return "its value";
  if (id == TypeId::kUInt64) return std::to_string(column.Values<uint64_t>()[i]);
  if (!IsFloat(id)) return std::to_string(static_cast<int64_t>(IntegerAt(column, i)));
  char digits[32];
  auto end = id == TypeId::kFloat32
                 ? std::to_chars(digits, digits + sizeof digits, column.Values<float>()[i])
                 : std::to_chars(digits, digits + sizeof digits, column.Values<double>()[i]);
  return {digits, end.ptr};
}

}  // namespace

bool MayCast(const DataType& from, const DataType& to) { return Plan(from, to).has_value(); }

Result<OwnedArray> CastExactly(const ColumnView& column, const DataType& to) {
  const std::optional<Cast> cast = Plan(column.type(), to);
  ColumnBuilder builder(to.Plain());
  builder.Reserve(column.size());
  for (int64_t i = 0; i < column.size(); ++i) {
    if (Append(*cast, column, i, &builder)) continue;
    return Status::Invalid("row " + std::to_string(i) + ": " + TextOf(column, i) + ", given as " +
                           column.type().ToString() + ", is not exactly a " + to.ToString() +
                           ": cast the column first, or leave the row out");
  }
  OwnedArray array;
  builder.Finish(array.get());
  return array;
}

}  // namespace flint
