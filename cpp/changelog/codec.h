#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace flint::changelog {

// zstd, one frame a call, with a context that is reused. One thread at a time. The context is made
// at the first call: a segment so small that nothing is compressed never pays for it.
class Compressor {
 public:
  // Invalid where zstd has no such level.
  static Status CheckLevel(int level);

  explicit Compressor(int level) : level_(level) {}
  Compressor(Compressor&& other) noexcept;
  Compressor& operator=(Compressor&& other) noexcept;
  ~Compressor();

  // The most that Compress can need for `size` bytes.
  static size_t Bound(size_t size);
  // Compresses into `out` and returns how many bytes it took; 0 where that is not fewer than there
  // were, and for what is too small to try. `capacity` is at least Bound(raw.size()).
  Result<size_t> Compress(std::string_view raw, char* out, size_t capacity);

 private:
  int level_;
  ZSTD_CCtx_s* context_ = nullptr;
};

class Decompressor {
 public:
  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor();

  // Fills `out` with exactly `raw_size` bytes; never writes past them. Corruption where `stored` is
  // no frame or holds fewer or more.
  Status Decompress(std::string_view stored, char* out, size_t raw_size);

 private:
  ZSTD_DCtx_s* context_ = nullptr;
};

}  // namespace flint::changelog
