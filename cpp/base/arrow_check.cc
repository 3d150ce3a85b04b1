// What an Arrow array must not be, lest reading it leads elsewhere: checked once, when it comes in.

#include "base/arrow_column.h"
#include "base/utf8.h"

namespace flint {
namespace {

// Whether `count` ranges follow each other, from no negative place on.
template <class Offset>
bool Ascend(const Offset* offsets, int64_t count) {
  bool ascend = offsets[0] >= 0;
  for (int64_t i = 0; i < count; ++i) ascend &= offsets[i] <= offsets[i + 1];
  return ascend;
}

// Whether the `count` ranges of UTF-8, which ascend, all begin where a character does.
template <class Offset>
bool CutBetweenCharacters(const char* data, const Offset* offsets, int64_t count) {
  while (count > 0 && offsets[count - 1] == offsets[count]) --count;  // nothing stands at the end
  bool inside = false;
  for (int64_t i = 0; i < count; ++i) inside |= Continues(data[offsets[i]]);
  return !inside;
}

std::string InRow(int64_t row, const std::string& what) {
  return "row " + std::to_string(row) + " " + what;
}

}  // namespace

Status ColumnView::Malformed(const std::string& what) const {
  return Status::Invalid("malformed Arrow array of type " + type_.ToString() + ": " + what);
}

Status ColumnView::CheckRows(int64_t from, int64_t count) const {
  if (count == 0) return {};
  switch (type_.id) {
    case TypeId::kString:
    case TypeId::kBinary:
      return CheckBytes<int32_t>(from, count);
    case TypeId::kLargeString:
    case TypeId::kLargeBinary:
      return CheckBytes<int64_t>(from, count);
    case TypeId::kStringView:
    case TypeId::kBinaryView:
      return CheckViews(from, count);
    case TypeId::kDictionary:
      return CheckIndices(from, count);
    case TypeId::kList:
    case TypeId::kMap:
      return CheckElements<int32_t>(from, count);
    case TypeId::kLargeList:
      return CheckElements<int64_t>(from, count);
    case TypeId::kFixedList:
      return children_[0].CheckRows((offset_ + from) * type_.size, count * type_.size);
    default:
      break;  // of fixed width, or a struct
  }
  for (const ColumnView& child : children_) FLINT_RETURN_IF_ERROR(child.CheckRows(from, count));
  return {};
}

template <class Offset>
Status ColumnView::CheckBytes(int64_t from, int64_t count) const {
  const Offset* offsets = Offsets<Offset>() + from;
  // The last of all says how long the bytes are.
  if (!Ascend(offsets, count) || offsets[count] > Offsets<Offset>()[size()]) {
    return Malformed("its offsets descend");
  }
  auto bytes = static_cast<size_t>(offsets[count] - offsets[0]);
  if (bytes == 0) return {};
  if (data() == nullptr) return Malformed("its bytes are missing");
  // All at once is fast, and what is wrong may lie under nulls.
  std::string_view all(data() + offsets[0], bytes);
  if (!type_.IsString() || IsAscii(all)) return {};
  if (IsUtf8(all) && CutBetweenCharacters(data(), offsets, count)) return {};
  return CheckStrings(from, count);
}

Status ColumnView::CheckStrings(int64_t from, int64_t count) const {
  for (int64_t i = from; i < from + count; ++i) {
    if (IsNull(i) || IsUtf8(Bytes(i))) continue;
    return Status::Invalid(InRow(i,
                                 "of a string column is not UTF-8: mend it, or cast the column "
                                 "to binary"));
  }
  return {};
}

template <class Offset>
Status ColumnView::CheckElements(int64_t from, int64_t count) const {
  const Offset* offsets = Offsets<Offset>() + from;
  if (!Ascend(offsets, count)) return Malformed("its offsets descend");
  if (offsets[count] > children_[0].size()) {
    return Malformed("its lists end behind the " + std::to_string(children_[0].size()) +
                     " elements");
  }
  return children_[0].CheckRows(offsets[0], offsets[count] - offsets[0]);
}

Status ColumnView::CheckViews(int64_t from, int64_t count) const {
  const auto* views = Values<ArrowView>();
  for (int64_t i = from; i < from + count; ++i) {
    const ArrowView& view = views[i];
    if (IsNull(i) || (view.size >= 0 && view.size <= kArrowViewInlineBytes)) continue;
    bool inside = view.size >= 0 && view.buffer >= 0 && view.buffer < view_buffer_count_ &&
                  view_buffers_[view.buffer] != nullptr && view.offset >= 0 &&
                  int64_t{view.offset} + view.size <= view_buffer_sizes_[view.buffer];
    if (!inside) return Malformed(InRow(i, "points outside of the buffers"));
  }
  return type_.IsString() ? CheckStrings(from, count) : Status();
}

// Of a dictionary that is larger than the column only what the column names is looked at.
Status ColumnView::CheckIndices(int64_t from, int64_t count) const {
  const ColumnView& values = children_[0];
  bool few = count < values.size();
  for (int64_t i = from; i < from + count; ++i) {
    if (validity_ != nullptr && !BitAt(validity_, offset_ + i)) continue;
    int64_t index = DictionaryIndex(i);
    if (index < 0 || index >= values.size()) {
      return Malformed(InRow(i, "names entry " + std::to_string(index) + " of a dictionary of " +
                                    std::to_string(values.size())));
    }
    if (few) FLINT_RETURN_IF_ERROR(values.CheckRows(index, 1));
  }
  return few ? Status() : values.CheckRows(0, values.size());
}

}  // namespace flint
