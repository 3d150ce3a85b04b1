#include "row/layout.h"

#include <utility>

namespace flint {
namespace {

// Deep enough for any schema that people write, shallow enough for recursion on any stack.
constexpr int kDepthMax = 64;

Result<ValueLayout> MakeValue(const DataType& type, int depth);

Status TooLarge(const DataType& type, uint64_t bytes) {
  return Status::Invalid("a value of type " + type.ToString() + " takes " + std::to_string(bytes) +
                         " bytes, at most " + std::to_string(kRowBytesMax) + " can be stored");
}

Result<TupleLayout> MakeTuple(const std::vector<Field>& fields, int depth) {
  TupleLayout tuple;
  uint32_t null_bits = 0;
  for (const Field& field : fields) {
    Result<ValueLayout> value = MakeValue(field.type, depth + 1);
    if (!value.ok()) return value.status().WithContext("'" + field.name + "'");
    MemberLayout member{field.name, *std::move(value)};
    member.nullable = field.nullable && field.type.id != TypeId::kNull;
    if (member.nullable) {
      member.null_mask = static_cast<uint8_t>(1u << (null_bits % 8));
      member.null_byte = null_bits / 8;
      ++null_bits;
    }
    tuple.members.push_back(std::move(member));
  }
  tuple.null_bytes = (null_bits + 7) / 8;
  uint64_t at = tuple.null_bytes;
  for (MemberLayout& member : tuple.members) {
    if (member.value.fixed) {
      member.slot_at = static_cast<uint32_t>(at);
      at += member.value.width;
    } else {
      member.variable = tuple.variable_count++;
    }
    if (at > kRowBytesMax) return TooLarge(member.value.type, at);
  }
  tuple.ends_at = static_cast<uint32_t>(at);
  at += tuple.variable_count > 1 ? 4ull * (tuple.variable_count - 1) : 0;
  if (at > kRowBytesMax) return Status::Invalid("too many columns");
  tuple.values_at = static_cast<uint32_t>(at);
  return tuple;
}

bool HasRequired(const TupleLayout& tuple) {
  for (const MemberLayout& member : tuple.members) {
    bool required = !member.nullable && member.value.type.id != TypeId::kNull;
    if (required || member.value.has_required) return true;
  }
  return false;
}

// A fixed-size list of fixed elements is fixed: null bits and slots.
Status MeasureFixedList(ValueLayout* value) {
  if (value->type.size < 0) return Status::Invalid("a list of negative size");
  value->fixed = value->element().value.fixed;
  uint64_t count = static_cast<uint64_t>(value->type.size);
  uint64_t null_bytes = value->element().nullable ? (count + 7) / 8 : 0;
  uint64_t bytes = null_bytes + count * (value->fixed ? value->element_width() : 4);
  if (bytes > kRowBytesMax) return TooLarge(value->type, bytes);
  if (value->fixed) value->width = static_cast<uint32_t>(bytes);
  return Status();
}

Result<ValueLayout> MakeValue(const DataType& type, int depth) {
  if (depth > kDepthMax) {
    return Status::Invalid("types nested deeper than " + std::to_string(kDepthMax) +
                           " levels can't be stored");
  }
  ValueLayout value;
  value.type = type;
  if (type.id == TypeId::kStruct || type.IsList()) {
    FLINT_ASSIGN_OR_RETURN(value.tuple, MakeTuple(type.children, depth));
    value.has_required = HasRequired(value.tuple);
  }
  if (type.id == TypeId::kFixedList) {
    FLINT_RETURN_IF_ERROR(MeasureFixedList(&value));
  } else if (type.id == TypeId::kStruct) {
    value.fixed = value.tuple.variable_count == 0;
    value.width = value.fixed ? value.tuple.values_at : 0;
  } else if (!type.IsList() && !type.IsBytes()) {
    value.fixed = true;
    value.width = type.id == TypeId::kBool ? 1 : static_cast<uint32_t>(type.FixedWidth());
    value.is_slot = type.FixedWidth() > 0;
  }
  return value;
}

}  // namespace

Result<TupleLayout> TupleLayout::Make(const std::vector<Field>& fields) {
  return MakeTuple(fields, 0);
}

Result<ValueLayout> ValueLayout::Make(const DataType& type) { return MakeValue(type, 0); }

}  // namespace flint
