#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arrow_abi.h"
#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// A typed look at one Arrow array, with offset, slices and layouts (plain, large, view, dictionary)
// taken care of. Borrows the array, which must outlive it. Reading is const and thread-safe.
// Row numbers are 0 .. size()-1 and are not checked.
class ColumnView {
 public:
  // Nobody vouches for an array that comes from elsewhere: Invalid where it has not the buffers and
  // children that `type` calls for, where offsets, ranges of lists, indices of dictionaries or
  // views lead outside of what they are about, and where a string is not UTF-8. What lies under
  // nulls, or belongs to no row, is not looked at, and must not be. How long buffers are is not
  // said by Arrow's C interface, and taken on trust, but for those of views.
  static Result<ColumnView> Make(const DataType& type, const ArrowArray& array);

  const DataType& type() const { return type_; }
  int64_t size() const { return size_; }

  // Whether any row may be null: where not, IsNull is false everywhere.
  bool MayHaveNulls() const {
    if (type_.id == TypeId::kDictionary && children_[0].MayHaveNulls()) return true;
    return validity_ != nullptr || type_.id == TypeId::kNull;
  }
  // A dictionary's row is null when its index is null or what the index names is.
  bool IsNull(int64_t i) const {
    if (validity_ != nullptr && !BitAt(validity_, offset_ + i)) return true;
    if (type_.id == TypeId::kDictionary) return children_[0].IsNull(DictionaryIndex(i));
    return type_.id == TypeId::kNull;
  }

  // Fixed-width types: the slots, row 0 first.
  template <class T>
  const T* Values() const {
    return static_cast<const T*>(values_) + offset_;
  }
  const char* Slot(int64_t i) const {
    return static_cast<const char*>(values_) + (offset_ + i) * width_;
  }
  bool Bool(int64_t i) const { return BitAt(static_cast<const uint8_t*>(values_), offset_ + i); }

  // Strings, binaries of any layout, fixed-size binaries. Empty for nulls is not promised.
  std::string_view Bytes(int64_t i) const;

  // Lists and maps: row i's elements are rows [first, second) of child(0); a map's child is a
  // struct of key and value.
  std::pair<int64_t, int64_t> ListRange(int64_t i) const;
  // Struct: field k, row i of it belonging to row i of this. Lists: child(0), the elements.
  // Dictionary: child(0), the values.
  const ColumnView& child(size_t k) const { return children_[k]; }
  int64_t DictionaryIndex(int64_t i) const;

  // Where Arrow keeps them, for code that works on whole columns. May be null.
  const uint8_t* validity() const { return validity_; }
  int64_t offset() const { return offset_; }
  // String and binary: 32-bit offsets of row 0 on; large: 64-bit. Data as they index it.
  template <class T>
  const T* Offsets() const {
    return static_cast<const T*>(offsets_) + offset_;
  }
  const char* data() const { return static_cast<const char*>(values_); }

  // The same rows, from `from` on, `count` of them.
  ColumnView Slice(int64_t from, int64_t count) const;

 private:
  static bool BitAt(const uint8_t* bits, int64_t i) { return (bits[i >> 3] >> (i & 7) & 1) != 0; }
  static Result<ColumnView> MakeAt(const DataType& type, const ArrowArray& array, int64_t offset,
                                   int64_t size);
  Status BindBuffers(const ArrowArray& array);
  Status BindViews(const ArrowArray& array);
  Status BindChildren(const ArrowArray& array);
  Status BindChild(const DataType& type, const ArrowArray* array);

  // arrow_check.cc: what Make promises, of rows from .. from+count-1.
  Status CheckRows(int64_t from, int64_t count) const;
  template <class Offset>
  Status CheckBytes(int64_t from, int64_t count) const;
  template <class Offset>
  Status CheckElements(int64_t from, int64_t count) const;
  Status CheckViews(int64_t from, int64_t count) const;
  Status CheckIndices(int64_t from, int64_t count) const;
  Status CheckStrings(int64_t from, int64_t count) const;
  Status Malformed(const std::string& what) const;
  std::string_view ViewBytes(int64_t i) const;

  DataType type_;
  int64_t size_ = 0;
  int64_t offset_ = 0;
  int32_t width_ = 0;
  const uint8_t* validity_ = nullptr;
  const void* values_ = nullptr;   // slots, or the bytes that offsets index, or view structs
  const void* offsets_ = nullptr;  // of strings, binaries, lists
  const void* const* view_buffers_ = nullptr;
  const int64_t* view_buffer_sizes_ = nullptr;
  int64_t view_buffer_count_ = 0;
  std::vector<ColumnView> children_;
};

// A batch: columns of equal length. Borrows the array.
struct BatchView {
  Schema schema;
  std::vector<ColumnView> columns;
  int64_t num_rows = 0;

  // `array` is a struct array of `schema` (a record batch, as the C interface hands it).
  static Result<BatchView> Make(Schema schema, const ArrowArray& array);
};

}  // namespace flint
