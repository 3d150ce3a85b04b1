#pragma once

#include <cstdint>
#include <utility>

// The three structs of Arrow's C data and C stream interfaces. Their layout is a published ABI.

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // extern "C"

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"

#endif  // ARROW_C_STREAM_INTERFACE

namespace flint {

// The 16 bytes of one string or binary view: the bytes themselves where they are few, else which
// buffer they are in, and where.
struct ArrowView {
  int32_t size;
  char inlined_or_prefix[4];
  int32_t buffer;
  int32_t offset;
};
inline constexpr int32_t kArrowViewInlineBytes = 12;

// Owns one of the three structs: released when it goes, empty after a move.
template <class T>
class ArrowOwned {
 public:
  ArrowOwned() : value_{} {}
  // Takes over `value`, leaving it released, as the interface's moves do.
  explicit ArrowOwned(T* value) : value_(*value) { value->release = nullptr; }
  ArrowOwned(ArrowOwned&& other) noexcept : value_(other.value_) { other.value_.release = nullptr; }
  ArrowOwned& operator=(ArrowOwned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~ArrowOwned() {
    if (value_.release != nullptr) value_.release(&value_);
  }

  bool empty() const { return value_.release == nullptr; }
  T* get() { return &value_; }
  const T* get() const { return &value_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

  // Hands the struct to `out`; this becomes empty.
  void MoveTo(T* out) {
    *out = value_;
    value_.release = nullptr;
  }

 private:
  T value_;
};

using OwnedSchema = ArrowOwned<ArrowSchema>;
using OwnedArray = ArrowOwned<ArrowArray>;
using OwnedStream = ArrowOwned<ArrowArrayStream>;

}  // namespace flint
