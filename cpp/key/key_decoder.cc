#include "key/key_decoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "key/key_reader.h"
#include "key/key_writer.h"
#include "key/ordered.h"

namespace flint {
namespace {

// Rows that go through all columns together, so that their keys stay in the nearest caches.
constexpr size_t kBlockRows = 1024;

// What of each key of a block is not decoded yet.
struct Block {
  std::string_view rest[kBlockRows];
  size_t count = 0;
};

bool HasCodec(const KeyPart& part) {
  return part.code == KeyCode::kUnsigned || part.code == KeyCode::kSigned ||
         part.code == KeyCode::kFloat;
}

// Whether every key goes on with a value of this part, whole and not null.
bool AllPresent(const KeyPart& part, const Block& block) {
  auto stride = static_cast<size_t>(part.stride());
  bool all = true;
  for (size_t i = 0; i < block.count; ++i) all &= block.rest[i].size() >= stride;
  if (!all || !part.marked) return all;
  for (size_t i = 0; i < block.count; ++i) {
    all &= static_cast<uint8_t>(block.rest[i][0]) == kPresentMarker;
  }
  return all;
}

void DecodePresent(const KeyPart& part, Block* block, ColumnBuilder* out) {
  char* slots = out->ExtendSlots(static_cast<int64_t>(block->count));
  uint64_t mask = MaskOf(part);
  size_t marker = part.marked ? 1 : 0;
  WithCodec(part, [&](auto codec) {
    for (size_t i = 0; i < block->count; ++i) {
      codec.Decode(block->rest[i].data() + marker, mask, slots);
      block->rest[i].remove_prefix(marker + codec.kWidth);
      slots += codec.kWidth;
    }
  });
}

Status DecodeCells(const KeyPart& part, Block* block, ColumnBuilder* out) {
  KeyReader reader;
  for (size_t i = 0; i < block->count; ++i) {
    reader.Reset(block->rest[i]);
    FLINT_RETURN_IF_ERROR(reader.TakeCell(part, out));
    block->rest[i] = reader.rest();
  }
  return Status();
}

Status DecodeColumn(const KeyPart& part, Block* block, ColumnBuilder* out) {
  bool whole_column = part.fixed() && AllPresent(part, *block);
  if (whole_column && out == nullptr) {
    for (size_t i = 0; i < block->count; ++i) {
      block->rest[i].remove_prefix(static_cast<size_t>(part.stride()));
    }
    return Status();
  }
  if (whole_column && HasCodec(part) && part.type.id != TypeId::kBool) {
    DecodePresent(part, block, out);
    return Status();
  }
  return DecodeCells(part, block, out);
}

Status CheckNothingLeft(const KeyPart& last, const Block& block) {
  size_t left = 0;
  for (size_t i = 0; i < block.count; ++i) left |= block.rest[i].size();
  for (size_t i = 0; left != 0 && i < block.count; ++i) {
    FLINT_RETURN_IF_ERROR(KeyReader(block.rest[i]).CheckNothingLeft(last));
  }
  return Status();
}

}  // namespace

KeyDecoder::KeyDecoder(KeySchema schema) : schema_(std::move(schema)) {}

Status KeyDecoder::Append(std::span<const std::string_view> keys,
                          std::span<ColumnBuilder* const> out) const {
  Block block;
  for (size_t done = 0; done < keys.size(); done += kBlockRows) {
    block.count = std::min(kBlockRows, keys.size() - done);
    std::copy_n(keys.begin() + static_cast<ptrdiff_t>(done), block.count, block.rest);
    for (size_t k = 0; k < out.size(); ++k) {
      FLINT_RETURN_IF_ERROR(DecodeColumn(schema_.part(k), &block, out[k]));
    }
    if (out.size() == schema_.size()) {
      FLINT_RETURN_IF_ERROR(CheckNothingLeft(schema_.parts().back(), block));
    }
  }
  return Status();
}

}  // namespace flint
