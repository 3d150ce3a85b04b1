#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/arrow_abi.h"
#include "base/arrow_type.h"
#include "base/spare_memory.h"
#include "base/status.h"

namespace flint {

// Growing memory, 64-byte aligned as Arrow likes it, that can be handed to an ArrowArray.
class ArrowBuffer {
 public:
  ArrowBuffer() = default;
  ArrowBuffer(ArrowBuffer&& other) noexcept;
  ArrowBuffer& operator=(ArrowBuffer&& other) noexcept;
  ~ArrowBuffer() { GiveMemory({data_, capacity_}); }

  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  void Reserve(size_t bytes) {
    if (bytes > capacity_) Grow(bytes);
  }
  // New bytes are not set.
  void Resize(size_t bytes) {
    Reserve(bytes);
    size_ = bytes;
  }
  void Append(const void* bytes, size_t count) {
    if (size_ + count > capacity_) Grow(size_ + count);
    if (count != 0) std::memcpy(data_ + size_, bytes, count);
    size_ += count;
  }
  template <class T>
  void Push(T value) {
    Append(&value, sizeof value);
  }
  // Gives up the memory; the caller gives it back with GiveMemory.
  MemoryBlock Release();

 private:
  void Grow(size_t at_least);

  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Builds one Arrow array, row by row, for any *plain* type (DataType::Plain). One thread at a time.
//   fixed width   Append(value) or AppendSlot(bytes)
//   bool          AppendBool
//   bytes         AppendBytes
//   struct        append to every child, then FinishRow
//   list, map     append the row's elements to child(0), then FinishRow; a fixed-size list wants
//                 exactly its size of them
// AppendNull keeps children in step by itself.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(DataType type);

  const DataType& type() const { return type_; }
  int64_t size() const { return size_; }
  // What strings or binaries of this column take up so far: where 32-bit offsets could overflow
  // (past 2^31-1) the caller finishes the batch before.
  size_t data_bytes() const { return data_.size(); }
  void Reserve(int64_t rows);
  // The same for `rows` rows like those that are there already: their bytes too, as far as
  // `bytes_max`, but not what is nested.
  void ReserveAlike(int64_t rows, size_t bytes_max);

  template <class T>
  void Append(T value) {
    MarkValid();
    data_.Push(value);
  }
  void AppendSlot(const void* bytes) {
    MarkValid();
    data_.Append(bytes, static_cast<size_t>(width_));
  }
  void AppendBool(bool value);
  void AppendBytes(std::string_view bytes);
  // Many at once: the same, faster.
  void AppendAllBytes(std::span<const std::string_view> values);
  void AppendNull();

  ColumnBuilder& child(size_t k) { return children_[k]; }
  void FinishRow();

  // Whole columns at a time: `count` slots that the caller fills, all valid.
  char* ExtendSlots(int64_t count);

  // Moves what was built to `out` (children too) and starts anew.
  void Finish(ArrowArray* out);

 private:
  void MarkValid() {
    if (null_count_ > 0) PushValidity(true);
    ++size_;
  }
  void PushValidity(bool valid);
  void PushOffset(int64_t end);
  template <class Offset>
  void PushAllBytes(std::span<const std::string_view> values, size_t bytes);

  DataType type_;
  int32_t width_;
  int64_t size_ = 0;
  int64_t null_count_ = 0;
  ArrowBuffer validity_;  // empty until the first null
  ArrowBuffer offsets_;
  ArrowBuffer data_;
  std::vector<ColumnBuilder> children_;
};

// A string or binary array of `length` rows without nulls, from its buffers: its type is what fits
// the width of the offsets.
void ExportBytes(int64_t length, ArrowBuffer offsets, ArrowBuffer data, ArrowArray* out);

// Builds record batches of a schema: a builder for each column.
class BatchBuilder {
 public:
  explicit BatchBuilder(const Schema& schema);

  ColumnBuilder& column(size_t k) { return columns_[k]; }
  size_t num_columns() const { return columns_.size(); }
  // Makes room for `rows` rows like those that are there, of `bytes_max` bytes at most in all.
  void ReserveAlike(int64_t rows, size_t bytes_max);
  // Rows in each column, which must all be equally long, or `num_rows` where there is no column.
  OwnedArray Finish(int64_t num_rows);

 private:
  std::vector<ColumnBuilder> columns_;
};

}  // namespace flint
