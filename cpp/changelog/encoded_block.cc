#include "changelog/encoded_block.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"

namespace flint::changelog {
namespace {

// Whether a body that gets smaller by `saved` bytes is to be stored compressed.
bool IsWorthIt(size_t saved, size_t size) { return saved >= size / 16 && saved > 0; }

// A sample has a sixteenth of a column, within these bounds, in pieces from all over it.
constexpr size_t kSampleMin = 1u << 10;
constexpr size_t kSampleMax = 64u << 10;
constexpr size_t kPiecesMin = 4;
constexpr size_t kPieceMax = 4u << 10;

}  // namespace

Status EncodedBlock::Encode(const BlockHeader& header, ArrowBuffer* raw, Compressor* compressor,
                            Effort effort) {
  header_ = header;
  std::string_view body(raw->data() + kBlockHeaderSize, raw->size() - kBlockHeaderSize);
  bool tried = true;
  if (effort == Effort::kSample) {
    FLINT_ASSIGN_OR_RETURN(tried, SampleMayShrink(body, compressor));
  }
  size_t stored = 0;
  if (tried) {
    size_t bound = Compressor::Bound(body.size());
    compressed_.Resize(kBlockHeaderSize + bound + kAlignment);
    char* out = compressed_.data() + kBlockHeaderSize;
    FLINT_ASSIGN_OR_RETURN(stored, compressor->Compress(body, out, bound));
  }
  bool shrunk = stored > 0 && IsWorthIt(body.size() - stored, body.size());
  header_.codec = shrunk ? Codec::kZstd : Codec::kStored;
  bytes_ = shrunk ? &compressed_ : raw;
  if (!shrunk) stored = body.size();

  size_t filling = FillingAfter(stored);
  bytes_->Resize(kBlockHeaderSize + stored + filling);
  std::memset(bytes_->data() + kBlockHeaderSize + stored, kFilling, filling);
  IndexEntry& entry = header_.entry;
  entry.raw_size = static_cast<uint32_t>(body.size());
  entry.stored_size = static_cast<uint32_t>(stored);
  entry.body_checksum = Crc32c({bytes_->data() + kBlockHeaderSize, stored + filling});
  return Status();
}

// Lengths and runs are taken for nothing at all.
Result<bool> EncodedBlock::SampleMayShrink(std::string_view body, Compressor* compressor) {
  std::string_view values = body.substr(0, header_.values_size);
  std::string_view keys = body.substr(values.size(), header_.keys_size);
  FLINT_ASSIGN_OR_RETURN(size_t in_values, SavedBySample(values, compressor));
  FLINT_ASSIGN_OR_RETURN(size_t in_keys, SavedBySample(keys, compressor));
  size_t others = body.size() - values.size() - keys.size();
  return IsWorthIt(others + in_values + in_keys, body.size());
}

// How many bytes of a column compression would save, to go by a sample of it: twice what the sample
// says, for that sees fewer repetitions than there are.
Result<size_t> EncodedBlock::SavedBySample(std::string_view column, Compressor* compressor) {
  size_t sample = std::clamp(column.size() / 16, kSampleMin, kSampleMax);
  size_t pieces = std::max(sample / kPieceMax, kPiecesMin);
  size_t piece = sample / pieces;
  if (column.size() <= kSampleMin) pieces = 1, piece = column.size();
  sample = pieces * piece;
  size_t bound = Compressor::Bound(sample);
  compressed_.Resize(sample + bound);
  char* out = compressed_.data() + sample;
  for (size_t i = 0; i < pieces; ++i) {
    size_t at = pieces > 1 ? (column.size() - piece) * i / (pieces - 1) : 0;
    std::memcpy(compressed_.data() + i * piece, column.data() + at, piece);
  }
  FLINT_ASSIGN_OR_RETURN(size_t stored,
                         compressor->Compress({compressed_.data(), sample}, out, bound));
  size_t saved = stored > 0 ? sample - stored : 0;
  return sample > 0 ? std::min(column.size(), 2 * saved * column.size() / sample) : 0;
}

std::string_view EncodedBlock::Place(uint64_t offset, uint64_t first_sequence, uint32_t salt) {
  header_.entry.offset = offset;
  header_.entry.first_sequence = first_sequence;
  header_.EncodeTo(salt, bytes_->data());
  return {bytes_->data(), bytes_->size()};
}

}  // namespace flint::changelog
