#pragma once

#include <cstdint>
#include <string_view>

#include "base/arrow_builder.h"
#include "base/status.h"
#include "changelog/codec.h"
#include "changelog/format.h"

namespace flint::changelog {

// How a block's body is compressed. What saves less than a sixteenth is stored as it is: that is
// not worth the time it takes to decompress.
enum class Effort {
  kWhole,   // all of it
  kSample,  // pieces of it, and all of it where they, or what they leave open, might save enough
};

// A block on its way into a file: header, stored body and filling in one piece of memory, so that
// it is written by one call. Encoding does all that costs time and does not depend on where the
// block will stand, so that blocks can be encoded in any order, on any thread. One thread at a
// time. Its memory stays with it, to be used for block after block.
class EncodedBlock {
 public:
  // Compresses what follows the first kBlockHeaderSize bytes of `raw`, which are left free for the
  // header. A body that is stored as it is stays in `raw` itself: `raw` has to live, and is not to
  // be touched, until the block is written. `header` says what the body holds; sizes and checksum
  // are filled in.
  Status Encode(const BlockHeader& header, ArrowBuffer* raw, Compressor* compressor,
                Effort effort = Effort::kWhole);

  // The header's last fields. Returns all bytes of the block, for as long as it isn't encoded anew.
  std::string_view Place(uint64_t offset, uint64_t first_sequence, uint32_t salt);

  bool compressed() const { return header_.codec != Codec::kStored; }
  // What the index says of it; complete once it has its place.
  const IndexEntry& entry() const { return header_.entry; }

 private:
  Result<bool> SampleMayShrink(std::string_view body, Compressor* compressor);
  Result<size_t> SavedBySample(std::string_view column, Compressor* compressor);

  BlockHeader header_;
  ArrowBuffer compressed_;
  ArrowBuffer* bytes_ = nullptr;  // compressed_, or what was given as `raw`
};

}  // namespace flint::changelog
