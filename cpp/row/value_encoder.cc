#include "row/value_encoder.h"

#include <cstring>

namespace flint {
namespace {

void StoreU32(uint64_t value, char* out) {
  auto narrow = static_cast<uint32_t>(value);
  std::memcpy(out, &narrow, sizeof narrow);
}

void SetBit(char* bits, uint64_t i) { bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8)); }

// Null bits and slots (or ends) of `count` elements, and where each list's begin.
struct ListParts {
  uint64_t head;        // the count, where it is written
  uint64_t null_bytes;  // from there
  uint64_t slots;       // from there

  ListParts(const ValueLayout& layout, uint64_t count) {
    const MemberLayout& element = layout.element();
    head = layout.type.id == TypeId::kFixedList ? 0 : 4;
    null_bytes = element.nullable ? (count + 7) / 8 : 0;
    slots = element.value.fixed ? count * layout.element_width() : count > 0 ? 4 * (count - 1) : 0;
  }
  uint64_t total() const { return head + null_bytes + slots; }
};

uint64_t ListSize(const ValueLayout& layout, const ColumnView& view, int64_t i) {
  auto [first, last] = view.ListRange(i);
  uint64_t size = ListParts(layout, static_cast<uint64_t>(last - first)).total();
  if (layout.element().value.fixed) return size;
  const ColumnView& elements = view.child(0);
  for (int64_t k = first; k < last; ++k) {
    if (!elements.IsNull(k)) size += ValueSize(layout.element().value, elements, k);
  }
  return size;
}

uint64_t StructSize(const ValueLayout& layout, const ColumnView& view, int64_t i) {
  uint64_t size = layout.tuple.values_at;
  if (layout.tuple.variable_count == 0) return size;
  for (size_t k = 0; k < layout.tuple.members.size(); ++k) {
    const ValueLayout& value = layout.tuple.members[k].value;
    if (!value.fixed && !view.child(k).IsNull(i)) size += ValueSize(value, view.child(k), i);
  }
  return size;
}

char* WriteStruct(const ValueLayout& layout, const ColumnView& view, int64_t i, char* out) {
  const TupleLayout& tuple = layout.tuple;
  std::memset(out, 0, tuple.values_at);
  char* values = out + tuple.values_at;
  char* end = values;
  for (size_t k = 0; k < tuple.members.size(); ++k) {
    const MemberLayout& member = tuple.members[k];
    bool null = view.child(k).IsNull(i);
    if (null) out[member.null_byte] = static_cast<char>(out[member.null_byte] | member.null_mask);
    if (member.value.fixed) {
      if (!null) WriteValue(member.value, view.child(k), i, out + member.slot_at);
      continue;
    }
    if (!null) end = WriteValue(member.value, view.child(k), i, end);
    if (member.variable + 1 < tuple.variable_count) {
      StoreU32(static_cast<uint64_t>(end - values), out + tuple.ends_at + 4 * member.variable);
    }
  }
  return end;
}

// Whether slots can be copied whole: no nulls to zero, no layout to undo.
bool CopiesSlots(const ValueLayout& element, const ColumnView& elements) {
  return element.is_slot && element.type.id == elements.type().id && !elements.MayHaveNulls();
}

char* WriteList(const ValueLayout& layout, const ColumnView& view, int64_t i, char* out) {
  auto [first, last] = view.ListRange(i);
  auto count = static_cast<uint64_t>(last - first);
  ListParts parts(layout, count);
  if (parts.head > 0) StoreU32(count, out);
  char* nulls = out + parts.head;
  char* slots = nulls + parts.null_bytes;
  char* values = slots + parts.slots;
  char* end = values;
  const ValueLayout& element = layout.element().value;
  const ColumnView& elements = view.child(0);
  std::memset(nulls, 0, parts.null_bytes);
  if (CopiesSlots(element, elements)) {
    if (count > 0) std::memcpy(slots, elements.Slot(first), parts.slots);
    return values;
  }
  if (element.fixed) std::memset(slots, 0, parts.slots);
  for (uint64_t k = 0; k < count; ++k) {
    int64_t row = first + static_cast<int64_t>(k);
    bool null = elements.IsNull(row);
    if (null && parts.null_bytes > 0) SetBit(nulls, k);
    if (element.fixed) {
      if (!null) WriteValue(element, elements, row, slots + k * layout.element_width());
      continue;
    }
    if (!null) end = WriteValue(element, elements, row, end);
    if (k + 1 < count) StoreU32(static_cast<uint64_t>(end - values), slots + 4 * k);
  }
  return end;
}

Status NullIn(const std::string& path) {
  return Status::Invalid("'" + path + "' is declared not null and is null");
}

}  // namespace

ValueAt Resolve(const ColumnView& view, int64_t row) {
  ValueAt at{&view, row};
  while (at.view->type().id == TypeId::kDictionary) {
    at = {&at.view->child(0), at.view->DictionaryIndex(at.row)};
  }
  return at;
}

uint64_t ValueSize(const ValueLayout& layout, const ColumnView& view, int64_t i) {
  if (layout.fixed) return layout.width;
  auto [source, row] = Resolve(view, i);
  if (layout.type.IsBytes()) return source->Bytes(row).size();
  if (layout.type.id == TypeId::kStruct) return StructSize(layout, *source, row);
  return ListSize(layout, *source, row);
}

char* WriteValue(const ValueLayout& layout, const ColumnView& view, int64_t i, char* out) {
  auto [source, row] = Resolve(view, i);
  switch (layout.type.id) {
    case TypeId::kNull:
      return out;
    case TypeId::kBool:
      *out = source->Bool(row) ? 1 : 0;
      return out + 1;
    case TypeId::kStruct:
      return WriteStruct(layout, *source, row, out);
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kFixedList:
    case TypeId::kMap:
      return WriteList(layout, *source, row, out);
    default: {
      std::string_view bytes =
          layout.fixed ? std::string_view(source->Slot(row), layout.width) : source->Bytes(row);
      if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
      return out + bytes.size();
    }
  }
}

bool MayMissRequired(const ValueLayout& layout, const ColumnView& view) {
  if (view.type().id == TypeId::kDictionary) return MayMissRequired(layout, view.child(0));
  if (!layout.has_required) return false;
  for (size_t k = 0; k < layout.tuple.members.size(); ++k) {
    const MemberLayout& member = layout.tuple.members[k];
    const ColumnView& child = view.child(k);
    bool nulls = child.MayHaveNulls() || child.type().id == TypeId::kDictionary;
    bool required = !member.nullable && member.value.type.id != TypeId::kNull;
    if ((required && nulls) || MayMissRequired(member.value, child)) return true;
  }
  return false;
}

Status CheckRequired(const ValueLayout& layout, const ColumnView& view, int64_t i,
                     const std::string& path) {
  if (!layout.has_required) return Status();
  auto [source, row] = Resolve(view, i);
  bool is_list = layout.type.IsList();
  auto [first, last] = is_list ? source->ListRange(row) : std::pair(row, row + 1);
  for (size_t k = 0; k < layout.tuple.members.size(); ++k) {
    const MemberLayout& member = layout.tuple.members[k];
    std::string inner = path + (is_list ? "[]" : "." + member.name);
    bool required = !member.nullable && member.value.type.id != TypeId::kNull;
    for (int64_t at = first; at < last; ++at) {
      bool null = source->child(k).IsNull(at);
      if (null && required) return NullIn(inner);
      if (null) continue;
      FLINT_RETURN_IF_ERROR(CheckRequired(member.value, source->child(k), at, inner));
    }
  }
  return Status();
}

}  // namespace flint
