#include "base/arrow_column.h"

#include <string>

namespace flint {
namespace {

// No array that there is has more, and what is counted from it does not overflow.
constexpr int64_t kRowsMax = int64_t{1} << 56;

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
    case TypeId::kStringView:
    case TypeId::kBinaryView:
      return 3;
    default:
      return 2;
  }
}

// Whether an array of one row or more has something to point to in its second buffer.
bool NeedsSecondBuffer(const DataType& type) {
  return BuffersWanted(type) > 1 && !(type.id == TypeId::kFixedBinary && type.size == 0);
}

}  // namespace

Result<ColumnView> ColumnView::Make(const DataType& type, const ArrowArray& array) {
  FLINT_ASSIGN_OR_RETURN(ColumnView view, MakeAt(type, array, array.offset, array.length));
  FLINT_RETURN_IF_ERROR(view.CheckRows(0, view.size_));
  return view;
}

Result<ColumnView> ColumnView::MakeAt(const DataType& type, const ArrowArray& array, int64_t offset,
                                      int64_t size) {
  ColumnView view;
  view.type_ = type;
  view.offset_ = offset;
  view.size_ = size;
  view.width_ = type.FixedWidth();
  if (size < 0 || offset < 0 || offset > kRowsMax - size) {
    return view.Malformed(std::to_string(size) + " rows from row " + std::to_string(offset));
  }
  if (array.n_buffers < BuffersWanted(type) || (array.n_buffers > 0 && array.buffers == nullptr)) {
    return view.Malformed("it has " + std::to_string(array.n_buffers) + " buffers");
  }
  FLINT_RETURN_IF_ERROR(view.BindBuffers(array));
  FLINT_RETURN_IF_ERROR(view.BindChildren(array));
  return view;
}

Status ColumnView::BindBuffers(const ArrowArray& array) {
  if (size_ > 0 && NeedsSecondBuffer(type_) && array.buffers[1] == nullptr) {
    return Malformed("its second buffer is missing");
  }
  if (HasValidity(type_) && array.null_count != 0) {
    validity_ = static_cast<const uint8_t*>(array.buffers[0]);
    if (validity_ == nullptr && array.null_count > 0 && size_ > 0) {
      return Malformed("it does not say which of its rows are null");
    }
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
      return BindViews(array);
    case TypeId::kDictionary:  // its slots are the indices
      width_ = type_.children[0].type.FixedWidth();
      values_ = array.buffers[1];
      break;
    default:
      values_ = array.buffers[1];
  }
  return Status();
}

// After the views come the buffers that they point into, and then the sizes of those.
Status ColumnView::BindViews(const ArrowArray& array) {
  values_ = array.buffers[1];
  view_buffers_ = array.buffers + 2;
  view_buffer_count_ = array.n_buffers - 3;
  view_buffer_sizes_ = static_cast<const int64_t*>(array.buffers[array.n_buffers - 1]);
  if (view_buffer_count_ == 0 || view_buffer_sizes_ != nullptr) return {};
  return Malformed("it does not say how large its buffers are");
}

Status ColumnView::BindChildren(const ArrowArray& array) {
  if (type_.id == TypeId::kDictionary) {
    if (array.dictionary == nullptr) return Malformed("it has no dictionary");
    return BindChild(type_.children[1].type, array.dictionary);
  }
  if (array.n_children != static_cast<int64_t>(type_.children.size()) ||
      (array.n_children > 0 && array.children == nullptr)) {
    return Malformed("it has " + std::to_string(array.n_children) + " children");
  }
  for (size_t k = 0; k < type_.children.size(); ++k) {
    FLINT_RETURN_IF_ERROR(BindChild(type_.children[k].type, array.children[k]));
  }
  return Status();
}

// A struct's offset applies to its children; a fixed-size list's, times its size, too.
Status ColumnView::BindChild(const DataType& type, const ArrowArray* array) {
  if (array == nullptr) return Malformed("a child is missing");
  bool row_for_row = type_.id == TypeId::kStruct;
  int64_t rows = offset_ + size_;
  if (type_.id == TypeId::kFixedList && __builtin_mul_overflow(rows, type_.size, &rows)) {
    return Malformed("it has too many elements");
  }
  bool enough = (!row_for_row && type_.id != TypeId::kFixedList) || array->length >= rows;
  if (!enough || array->offset < 0 || array->offset > kRowsMax - offset_) {
    return Malformed("a child of " + std::to_string(array->length) + " rows for " +
                     std::to_string(rows));
  }
  int64_t offset = array->offset + (row_for_row ? offset_ : 0);
  int64_t size = row_for_row ? size_ : array->length;
  FLINT_ASSIGN_OR_RETURN(ColumnView view, MakeAt(type, *array, offset, size));
  children_.push_back(std::move(view));
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
  const ArrowView* view = Values<ArrowView>() + i;
  size_t size = static_cast<size_t>(view->size);
  if (view->size <= kArrowViewInlineBytes) return {view->inlined_or_prefix, size};
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
