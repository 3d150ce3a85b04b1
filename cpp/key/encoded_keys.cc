#include "key/encoded_keys.h"

#include <limits>
#include <utility>

namespace flint {

void EncodedKeys::Clear() {
  data_.Resize(0);
  offsets_.Resize(0);
  size_ = 0;
  large_ = false;
}

void EncodedKeys::Reserve(int64_t keys, size_t bytes) {
  data_.Reserve(bytes);
  offsets_.Reserve(static_cast<size_t>(keys + 1) * (large_ ? sizeof(int64_t) : sizeof(int32_t)));
}

void EncodedKeys::Widen() {
  ArrowBuffer wide;
  wide.Reserve(static_cast<size_t>(size_ + 1) * sizeof(int64_t));
  for (int64_t i = 0; i <= size_; ++i) wide.Push(static_cast<int64_t>(Offsets()[i]));
  offsets_ = std::move(wide);
  large_ = true;
}

size_t EncodedKeys::Grow(int64_t count, size_t bytes) {
  if (offsets_.size() == 0) offsets_.Push(int32_t{0});
  size_t before = data_.size();
  data_.Resize(before + bytes);
  if (!large_ && data_.size() > std::numeric_limits<int32_t>::max()) Widen();
  size_t width = large_ ? sizeof(int64_t) : sizeof(int32_t);
  offsets_.Resize(static_cast<size_t>(size_ + count + 1) * width);
  size_ += count;
  return before;
}

template <class Offset>
Offset* EncodedKeys::LastOffset() {
  return reinterpret_cast<Offset*>(offsets_.data()) + size_;
}

char* EncodedKeys::Extend(int64_t count, int64_t width) {
  size_t before = Grow(count, static_cast<size_t>(count * width));
  auto fill = [&](auto* offsets, auto start) {
    for (int64_t i = 1; i <= count; ++i) {
      offsets[i] = static_cast<decltype(start)>(start + i * width);
    }
  };
  if (large_) {
    fill(LastOffset<int64_t>() - count, static_cast<int64_t>(before));
  } else {
    fill(LastOffset<int32_t>() - count, static_cast<int32_t>(before));
  }
  return data_.data() + before;
}

char* EncodedKeys::Extend(std::span<const uint32_t> sizes) {
  size_t bytes = 0;
  for (uint32_t size : sizes) bytes += size;
  auto count = static_cast<int64_t>(sizes.size());
  size_t before = Grow(count, bytes);
  auto fill = [&](auto* offsets, auto end) {
    for (int64_t i = 0; i < count; ++i) {
      end += static_cast<decltype(end)>(sizes[static_cast<size_t>(i)]);
      offsets[i + 1] = end;
    }
  };
  if (large_) {
    fill(LastOffset<int64_t>() - count, static_cast<int64_t>(before));
  } else {
    fill(LastOffset<int32_t>() - count, static_cast<int32_t>(before));
  }
  return data_.data() + before;
}

void EncodedKeys::MoveTo(ArrowArray* out) {
  if (offsets_.size() == 0) offsets_.Push(int32_t{0});
  ExportBytes(size_, std::move(offsets_), std::move(data_), out);
  *this = EncodedKeys();
}

}  // namespace flint
