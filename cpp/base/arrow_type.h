#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_abi.h"
#include "base/status.h"

namespace flint {

enum class TypeId : uint8_t {
  kNull,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kDecimal128,
  kDecimal256,
  kString,
  kLargeString,
  kStringView,
  kBinary,
  kLargeBinary,
  kBinaryView,
  kFixedBinary,
  kDate32,
  kDate64,
  kTime32,
  kTime64,
  kTimestamp,
  kDuration,
  kStruct,
  kList,
  kLargeList,
  kFixedList,
  kMap,
  kDictionary,
};

enum class TimeUnit : uint8_t { kSecond, kMilli, kMicro, kNano };

struct Field;

// So many levels deep may a column's type nest, its own included: with the batch around it, as deep
// as Arrow's libraries read a schema back.
inline constexpr int kTypeDepthMax = 63;

// An Arrow type, as a value. Two are equal when Arrow calls them equal.
struct DataType {
  TypeId id = TypeId::kNull;
  TimeUnit unit = TimeUnit::kSecond;  // time32, time64, timestamp, duration
  std::string timezone;               // timestamp; empty: without zone
  int32_t precision = 0;              // decimals
  int32_t scale = 0;
  int32_t size = 0;             // bytes of a fixed-size binary, elements of a fixed-size list
  std::vector<Field> children;  // struct: its fields; lists: the element; map: the entries struct;
                                // dictionary: the index, then the value

  DataType() = default;
  explicit DataType(TypeId type);

  // Reads Arrow's format string and children. Types that flintstate does not know (unions,
  // intervals, run ends, list views, extension storage is taken as it is) are Invalid, by name, and
  // so are those that nest deeper than kTypeDepthMax.
  static Result<DataType> FromArrow(const ArrowSchema& schema);

  // "timestamp[us, tz=UTC]": what pyarrow prints.
  std::string ToString() const;
  bool operator==(const DataType& other) const;

  // Bytes of one slot for types of fixed width except bool; 0 for all others.
  int32_t FixedWidth() const;
  // Strings and binaries of any layout, but not fixed-size binary.
  bool IsBytes() const;
  bool IsString() const;
  // kList, kLargeList, kFixedList, kMap.
  bool IsList() const;
  // The type in which values of this one are kept and given back: views and dictionaries, at any
  // depth, become plain; all others stay.
  DataType Plain() const;
  // Whether arrays of either type hold the same values, in whatever layout (plain, large, view,
  // dictionary) and whatever they declare of nulls.
  bool SameValues(const DataType& other) const;
};

struct Field {
  std::string name;
  DataType type;
  bool nullable = true;

  static Result<Field> FromArrow(const ArrowSchema& schema);
  bool operator==(const Field& other) const;
};

// Here, where Field is complete.
inline DataType::DataType(TypeId type) : id(type) {}

// The columns of a table or batch, in order.
struct Schema {
  std::vector<Field> fields;

  // `schema` is a struct: what `__arrow_c_schema__` of a pyarrow.Schema gives.
  static Result<Schema> FromArrow(const ArrowSchema& schema);
  // -1 where there is none.
  int IndexOf(std::string_view name) const;
  size_t size() const { return fields.size(); }
  const Field& operator[](size_t i) const { return fields[i]; }
  bool operator==(const Schema& other) const = default;
  std::string ToString() const;  // "user: int64 not null, at: timestamp[us]"
};

// Fill `out`, which the caller then owns.
void ExportField(const Field& field, ArrowSchema* out);
void ExportSchema(const Schema& schema, ArrowSchema* out);

}  // namespace flint
