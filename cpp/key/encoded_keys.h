#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/arrow_builder.h"

namespace flint {

// The keys of some rows, end to end in one buffer, with offsets as Arrow has them: 32-bit ones
// until the keys exceed 2^31-1 bytes, then 64-bit.
class EncodedKeys {
 public:
  int64_t size() const { return size_; }
  std::string_view operator[](int64_t i) const {
    return large_ ? At(LargeOffsets() + i) : At(Offsets() + i);
  }
  const char* data() const { return data_.data(); }
  size_t data_bytes() const { return data_.size(); }

  // Whether offsets are 64-bit; only the one kind of them is there.
  bool large() const { return large_; }
  const int32_t* Offsets() const { return reinterpret_cast<const int32_t*>(offsets_.data()); }
  const int64_t* LargeOffsets() const { return reinterpret_cast<const int64_t*>(offsets_.data()); }

  // Forgets all keys, keeps the memory.
  void Clear();
  void Reserve(int64_t keys, size_t bytes);
  // Room for `count` keys of `width` bytes each, for the caller to fill.
  char* Extend(int64_t count, int64_t width);
  // The same for keys of different sizes.
  char* Extend(std::span<const uint32_t> sizes);
  // Moves the keys to `out`, a binary array or, where large(), a large binary one.
  void MoveTo(ArrowArray* out);

 private:
  template <class Offset>
  std::string_view At(const Offset* at) const {
    return {data_.data() + at[0], static_cast<size_t>(at[1] - at[0])};
  }
  // Makes room for `count` more offsets and `bytes` more bytes; gives the old end of the bytes.
  size_t Grow(int64_t count, size_t bytes);
  void Widen();
  template <class Offset>
  Offset* LastOffset();

  ArrowBuffer data_;
  ArrowBuffer offsets_;
  int64_t size_ = 0;
  bool large_ = false;
};

}  // namespace flint
