#include "row/value_decoder.h"

#include <cstring>

#include "row/value_view.h"

namespace flint {
namespace {

bool AppendStruct(const ValueLayout& layout, std::string_view bytes, ColumnBuilder* out) {
  TupleView tuple;
  if (!tuple.Open(layout.tuple, bytes)) return false;
  for (size_t k = 0; k < layout.tuple.members.size(); ++k) {
    const MemberLayout& member = layout.tuple.members[k];
    std::string_view value;
    if (tuple.IsNull(member)) {
      out->child(k).AppendNull();
    } else if (!tuple.Value(member, &value) || !AppendValue(member.value, value, &out->child(k))) {
      return false;
    }
  }
  out->FinishRow();
  return true;
}

bool AppendList(const ValueLayout& layout, std::string_view bytes, ColumnBuilder* out) {
  ListView list;
  if (!list.Open(layout, bytes)) return false;
  const ValueLayout& element = layout.element().value;
  ColumnBuilder* elements = &out->child(0);
  if (element.is_slot && !list.HasNulls()) {
    size_t size = size_t{list.count()} * element.width;
    char* slots = elements->ExtendSlots(list.count());
    if (size > 0) std::memcpy(slots, list.slots(), size);
    out->FinishRow();
    return true;
  }
  for (uint32_t i = 0; i < list.count(); ++i) {
    std::string_view value;
    if (list.IsNull(i)) {
      elements->AppendNull();
    } else if (!list.Value(i, &value) || !AppendValue(element, value, elements)) {
      return false;
    }
  }
  out->FinishRow();
  return true;
}

}  // namespace

bool AppendValue(const ValueLayout& layout, std::string_view bytes, ColumnBuilder* out) {
  if (layout.fixed && bytes.size() != layout.width) return false;
  switch (layout.type.id) {
    case TypeId::kNull:
      out->AppendNull();
      return true;
    case TypeId::kBool:
      out->AppendBool(bytes[0] != 0);
      return true;
    case TypeId::kStruct:
      return AppendStruct(layout, bytes, out);
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kFixedList:
    case TypeId::kMap:
      return AppendList(layout, bytes, out);
    default:
      if (layout.type.IsBytes()) {
        out->AppendBytes(bytes);
      } else {
        out->AppendSlot(bytes.data());
      }
      return true;
  }
}

}  // namespace flint
