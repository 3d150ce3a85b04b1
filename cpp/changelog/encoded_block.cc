#include "changelog/encoded_block.h"

#include <cstring>

#include "base/checksum.h"

namespace flint::changelog {

Status EncodedBlock::Encode(const BlockHeader& header, ArrowBuffer* raw, Compressor* compressor) {
  header_ = header;
  std::string_view body(raw->data() + kBlockHeaderSize, raw->size() - kBlockHeaderSize);
  size_t bound = Compressor::Bound(body.size());
  compressed_.Resize(kBlockHeaderSize + bound + kAlignment);
  char* out = compressed_.data() + kBlockHeaderSize;
  FLINT_ASSIGN_OR_RETURN(size_t stored, compressor->Compress(body, out, bound));
  header_.codec = stored > 0 ? Codec::kZstd : Codec::kStored;
  bytes_ = stored > 0 ? &compressed_ : raw;
  if (stored == 0) stored = body.size();

  size_t filling = FillingAfter(stored);
  bytes_->Resize(kBlockHeaderSize + stored + filling);
  std::memset(bytes_->data() + kBlockHeaderSize + stored, kFilling, filling);
  IndexEntry& entry = header_.entry;
  entry.raw_size = static_cast<uint32_t>(body.size());
  entry.stored_size = static_cast<uint32_t>(stored);
  entry.body_checksum = Crc32c({bytes_->data() + kBlockHeaderSize, stored + filling});
  return Status();
}

std::string_view EncodedBlock::Place(uint64_t offset, uint64_t first_sequence, uint32_t salt) {
  header_.entry.offset = offset;
  header_.entry.first_sequence = first_sequence;
  header_.EncodeTo(salt, bytes_->data());
  return {bytes_->data(), bytes_->size()};
}

}  // namespace flint::changelog
