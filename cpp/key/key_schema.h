#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_abi.h"
#include "base/arrow_column.h"
#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// What keys are, byte by byte, is in docs/format/key.md.

enum class NullOrder : uint8_t { kFirst, kLast };

struct KeyColumn {
  Field field;
  bool descending = false;
  NullOrder nulls = NullOrder::kFirst;
};

// How a value becomes bytes.
enum class KeyCode : uint8_t {
  kUnsigned,  // bool too
  kSigned,    // integers, decimals, all times
  kFloat,
  kRaw,        // fixed-size binary
  kBytes,      // escaped, with an end
  kOpenBytes,  // as it is, to the end of the key
  kStruct,     // its children
  kFixedList,  // child 0, type.size times
  kList,       // child 0, marked, any number of times, and an end
};

// One column of a key, or a field or element within it, with all that encoding it takes.
struct KeyPart {
  static constexpr int64_t kVariable = -1;

  DataType type;     // plain
  std::string path;  // for messages: "user", "address.city", "tags[]"
  KeyCode code = KeyCode::kRaw;
  bool nullable = true;
  bool marked = true;  // begins with a marker: nullable, or an element of a list
  bool descending = false;
  uint8_t null_marker = 0;
  int64_t width = kVariable;  // bytes of a value, without its marker
  std::vector<KeyPart> children;

  bool fixed() const { return width != kVariable; }
  // Bytes of marker and value, for a part of fixed width.
  int64_t stride() const { return width + (marked ? 1 : 0); }
  // "key column 'a' (int64): what".
  Status Invalid(std::string_view what) const;
  Status Corruption(std::string_view what) const;
};

// Columns of a key as a batch has them, in key order.
struct SelectedColumns {
  std::vector<ColumnView> views;
  std::vector<OwnedArray> cast;  // what the batch has in another type
};

// The columns of a key: their types, order and place of nulls. A value; immutable once made.
class KeySchema {
 public:
  // Whether a last ascending string or binary stands as it is (kOpen) or is always terminated, so
  // that something can follow the key.
  enum class End : uint8_t { kOpen, kTerminated };

  // Refuses, by name, a type that can't be a key, a name that stands twice, and no column at all.
  static Result<KeySchema> Make(std::vector<KeyColumn> columns, End end = End::kOpen);
  // All columns of `schema`, those named in `descending` descending.
  static Result<KeySchema> Make(const Schema& schema, const std::vector<std::string>& descending,
                                NullOrder nulls = NullOrder::kFirst, End end = End::kOpen);
  // The form that key groups are computed from: everything nullable, ascending, nulls first,
  // terminated, whatever `schema` says.
  static Result<KeySchema> Canonical(const Schema& schema);

  size_t size() const { return parts_.size(); }
  const KeyPart& part(size_t k) const { return parts_[k]; }
  const std::vector<KeyPart>& parts() const { return parts_; }
  // Names and nullability as given, types plain: what decoding gives.
  const Schema& schema() const { return schema_; }

  // Bytes of the first `columns` columns where that is the same for all keys.
  std::optional<int64_t> FixedWidth(size_t columns) const;

  // The columns of `batch` that are ours, by name; others are left aside. One of another type is
  // cast where its values are exactly the key's. Invalid where one is missing, or can't be cast.
  Result<SelectedColumns> Select(const BatchView& batch) const;

  // The smallest bytes greater than all keys whose first `columns` columns encode to `prefix`;
  // nullopt where there are none, that is where no upper bound is needed.
  std::optional<std::string> After(std::string_view prefix, size_t columns) const;

 private:
  std::vector<KeyPart> parts_;
  Schema schema_;
};

// The smallest bytes greater than everything that begins with `prefix`; nullopt: there are none.
std::optional<std::string> PrefixSuccessor(std::string_view prefix);

}  // namespace flint
