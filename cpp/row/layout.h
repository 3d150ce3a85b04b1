#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// Where the parts of a row lie, compiled once from types. docs/format/row.md is the specification.

// A row, or a part of it, is at most this long: what Arrow's 32-bit offsets can read back.
inline constexpr uint64_t kRowBytesMax = std::numeric_limits<int32_t>::max();

struct MemberLayout;

// A tuple: the columns of a row, the fields of a struct. Null bits, then slots, then the ends of
// the variable members but the last one, then the variable members themselves.
struct TupleLayout {
  std::vector<MemberLayout> members;
  uint32_t null_bytes = 0;
  uint32_t ends_at = 0;         // null bits and slots
  uint32_t values_at = 0;       // and ends: where variable members begin; the smallest size
  uint32_t variable_count = 0;  // none: every tuple of this layout is `values_at` bytes long

  static Result<TupleLayout> Make(const std::vector<Field>& fields);
};

// One value of a *plain* type (DataType::Plain). Immutable once made.
struct ValueLayout {
  DataType type;
  uint32_t width = 0;         // bytes, where fixed
  bool fixed = false;         // every value takes `width` bytes
  bool is_slot = false;       // an Arrow array keeps the same bytes, one value after another
  bool has_required = false;  // something inside it is declared not null
  TupleLayout tuple;          // struct: its fields; lists and maps: one member, the element

  static Result<ValueLayout> Make(const DataType& type);

  // Both for lists and maps alone. An element's slot takes at least a byte, so that no count can
  // exceed the bytes that are there.
  const MemberLayout& element() const;
  uint32_t element_width() const;
};

struct MemberLayout {
  std::string name;
  ValueLayout value;
  bool nullable = false;  // has a null bit; a member of type null has none, being always null
  uint8_t null_mask = 0;
  uint32_t null_byte = 0;
  uint32_t slot_at = 0;   // fixed: from the tuple's start
  uint32_t variable = 0;  // variable: how many variable members precede it
};

inline const MemberLayout& ValueLayout::element() const { return tuple.members[0]; }
inline uint32_t ValueLayout::element_width() const {
  return element().value.width > 0 ? element().value.width : 1;
}

}  // namespace flint
