#include "changelog/codec.h"

#include <zstd.h>

#include <string>
#include <utility>

namespace flint::changelog {
namespace {

constexpr size_t kTooSmallToShrink = 64;

}  // namespace

Status Compressor::CheckLevel(int level) {
  if (level >= ZSTD_minCLevel() && level <= ZSTD_maxCLevel()) return Status();
  return Status::Invalid("compression level " + std::to_string(level) + " is not between " +
                         std::to_string(ZSTD_minCLevel()) + " and " +
                         std::to_string(ZSTD_maxCLevel()));
}

Compressor::Compressor(Compressor&& other) noexcept
    : level_(other.level_), context_(std::exchange(other.context_, nullptr)) {}

Compressor& Compressor::operator=(Compressor&& other) noexcept {
  std::swap(level_, other.level_);
  std::swap(context_, other.context_);
  return *this;
}

Compressor::~Compressor() { ZSTD_freeCCtx(context_); }

size_t Compressor::Bound(size_t size) { return ZSTD_compressBound(size); }

Result<size_t> Compressor::Compress(std::string_view raw, char* out, size_t capacity) {
  if (raw.size() < kTooSmallToShrink) return size_t{0};
  if (context_ == nullptr) {
    context_ = ZSTD_createCCtx();
    if (context_ == nullptr) return Status::IO("compress: no memory for zstd's context");
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level_);
  }
  size_t size = ZSTD_compress2(context_, out, capacity, raw.data(), raw.size());
  if (ZSTD_isError(size) != 0) {
    return Status::Internal(std::string("compress: ") + ZSTD_getErrorName(size));
  }
  return size < raw.size() ? size : 0;
}

Decompressor::~Decompressor() { ZSTD_freeDCtx(context_); }

Status Decompressor::Decompress(std::string_view stored, char* out, size_t raw_size) {
  if (context_ == nullptr) {
    context_ = ZSTD_createDCtx();
    if (context_ == nullptr) return Status::IO("decompress: no memory for zstd's context");
  }
  size_t size = ZSTD_decompressDCtx(context_, out, raw_size, stored.data(), stored.size());
  if (ZSTD_isError(size) != 0) {
    return Status::Corruption(std::string("cannot be decompressed: ") + ZSTD_getErrorName(size));
  }
  if (size != raw_size) return Status::Corruption("decompresses to fewer bytes than it declares");
  return Status();
}

}  // namespace flint::changelog
