#include "base/arrow_column.h"

#include <string>

namespace flint {
namespace {

constexpr int64_t kViewInlineBytes = 12;

// The 16 bytes of one string or binary view.
struct View {
  int32_t size;
  char inlined_or_prefix[4];
  int32_t buffer;
  int32_t offset;
};

Status Malformed(const DataType& type, const std::string& what) {
  return Status::Invalid("malformed Arrow array of type " + type.ToString() + ": " + what);
}

bool HasValidity(const DataType& type) { return type.id != TypeId::kNull; }

int64_t BuffersWanted(const DataType& type) {
  switch (type.id) {
    case TypeId::kNull:
      return 0;
    case TypeId::kStruct:
    case TypeId::kFixedList:
      return 1;
    case TypeId::kString:
    case TypeId::kLargeString:
    case TypeId::kBinary:
    case TypeId::kLargeBinary:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

Result<ColumnView> ColumnView::Make(const DataType& type, const ArrowArray& array) {
  return MakeAt(type, array, array.offset, array.length);
}

Result<ColumnView> ColumnView::MakeAt(const DataType& type, const ArrowArray& array, int64_t offset,
                                      int64_t size) {
  ColumnView view;
  view.type_ = type;
  view.offset_ = offset;
  view.size_ = size;
  view.width_ = type.FixedWidth();
  if (array.n_buffers < BuffersWanted(type)) {
    return Malformed(type, "it has " + std::to_string(array.n_buffers) + " buffers");
  }
  FLINT_RETURN_IF_ERROR(view.BindBuffers(array));
  FLINT_RETURN_IF_ERROR(view.BindChildren(array));
  return view;
}

Status ColumnView::BindBuffers(const ArrowArray& array) {
  if (HasValidity(type_) && array.null_count != 0) {
    validity_ = static_cast<const uint8_t*>(array.buffers[0]);
  }
  switch (type_.id) {
    case TypeId::kNull:
    case TypeId::kStruct:
    case TypeId::kFixedList:
      break;
    case TypeId::kString:
    case TypeId::kLargeString:
    case TypeId::kBinary:
    case TypeId::kLargeBinary:
      offsets_ = array.buffers[1];
      values_ = array.buffers[2];
      break;
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kMap:
      offsets_ = array.buffers[1];
      break;
    case TypeId::kStringView:
    case TypeId::kBinaryView:
      view_buffers_ = array.buffers + 2;
      values_ = array.buffers[1];
      break;
    case TypeId::kDictionary:  // its slots are the indices
      width_ = type_.children[0].type.FixedWidth();
      values_ = array.buffers[1];
      break;
    default:
      values_ = array.buffers[1];
  }
  return Status();
}

// A struct's offset applies to its children; a fixed-size list's, times its size, too.
Status ColumnView::BindChildren(const ArrowArray& array) {
  if (type_.id == TypeId::kDictionary) {
    if (array.dictionary == nullptr) return Malformed(type_, "it has no dictionary");
    FLINT_ASSIGN_OR_RETURN(ColumnView values, Make(type_.children[1].type, *array.dictionary));
    children_.push_back(std::move(values));
    return Status();
  }
  if (array.n_children != static_cast<int64_t>(type_.children.size())) {
    return Malformed(type_, "it has " + std::to_string(array.n_children) + " children");
  }
  for (size_t k = 0; k < type_.children.size(); ++k) {
    const ArrowArray& child = *array.children[k];
    bool row_for_row = type_.id == TypeId::kStruct;
    int64_t offset = child.offset + (row_for_row ? offset_ : 0);
    int64_t size = row_for_row ? size_ : child.length;
    FLINT_ASSIGN_OR_RETURN(ColumnView view, MakeAt(type_.children[k].type, child, offset, size));
    children_.push_back(std::move(view));
  }
  return Status();
}

std::string_view ColumnView::Bytes(int64_t i) const {
  switch (type_.id) {
    case TypeId::kString:
    case TypeId::kBinary: {
      const int32_t* at = Offsets<int32_t>() + i;
      return {data() + at[0], static_cast<size_t>(at[1] - at[0])};
    }
    case TypeId::kLargeString:
    case TypeId::kLargeBinary: {
      const int64_t* at = Offsets<int64_t>() + i;
      return {data() + at[0], static_cast<size_t>(at[1] - at[0])};
    }
    case TypeId::kFixedBinary:
      return {Slot(i), static_cast<size_t>(width_)};
    case TypeId::kDictionary:
      return children_[0].Bytes(DictionaryIndex(i));
    default:
      return ViewBytes(i);
  }
}

std::string_view ColumnView::ViewBytes(int64_t i) const {
  const View* view = Values<View>() + i;
  size_t size = static_cast<size_t>(view->size);
  if (view->size <= kViewInlineBytes) return {view->inlined_or_prefix, size};
  return {static_cast<const char*>(view_buffers_[view->buffer]) + view->offset, size};
}

std::pair<int64_t, int64_t> ColumnView::ListRange(int64_t i) const {
  if (type_.id == TypeId::kFixedList) {
    return {(offset_ + i) * type_.size, (offset_ + i + 1) * type_.size};
  }
  if (type_.id == TypeId::kLargeList) {
    const int64_t* at = Offsets<int64_t>() + i;
    return {at[0], at[1]};
  }
  const int32_t* at = Offsets<int32_t>() + i;
  return {at[0], at[1]};
}

int64_t ColumnView::DictionaryIndex(int64_t i) const {
  switch (type_.children[0].type.id) {
    case TypeId::kInt8:
      return Values<int8_t>()[i];
    case TypeId::kUInt8:
      return Values<uint8_t>()[i];
    case TypeId::kInt16:
      return Values<int16_t>()[i];
    case TypeId::kUInt16:
      return Values<uint16_t>()[i];
    case TypeId::kInt32:
      return Values<int32_t>()[i];
    case TypeId::kUInt32:
      return Values<uint32_t>()[i];
    default:
      return Values<int64_t>()[i];
  }
}

ColumnView ColumnView::Slice(int64_t from, int64_t count) const {
  ColumnView slice = *this;
  slice.offset_ += from;
  slice.size_ = count;
  if (type_.id == TypeId::kStruct) {
    for (ColumnView& child : slice.children_) child = child.Slice(from, count);
  }
  return slice;
}

Result<BatchView> BatchView::Make(Schema schema, const ArrowArray& array) {
  DataType row(TypeId::kStruct);
  row.children = schema.fields;
  FLINT_ASSIGN_OR_RETURN(ColumnView rows, ColumnView::Make(row, array));
  for (int64_t i = 0; rows.MayHaveNulls() && i < rows.size(); ++i) {
    if (rows.IsNull(i)) {
      return Status::Invalid("row " + std::to_string(i) + " of the batch is null as a whole: " +
                             "filter such rows out, or make their columns null");
    }
  }
  BatchView batch{std::move(schema), {}, rows.size()};
  for (size_t k = 0; k < batch.schema.size(); ++k) batch.columns.push_back(rows.child(k));
  return batch;
}

}  // namespace flint
