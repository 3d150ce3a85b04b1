#include "changelog/torn.h"

#include <algorithm>
#include <string>

#include "base/checksum.h"

namespace flint::changelog {
namespace {

constexpr size_t kChunk = 1u << 20;

bool OnlyZeros(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// `bytes` begin at `offset` of the file and may hold the whole of a header or end record there.
Result<bool> WholeAt(const ReadFile& file, uint32_t salt, std::string_view bytes, uint64_t offset) {
  if (EndRecord::IsWhole(bytes, salt, offset)) return true;
  if (!BlockHeader::IsWhole(bytes, salt, offset)) return false;
  Result<BlockHeader> header = BlockHeader::Decode(bytes);
  if (!header.ok()) return true;  // whole, and beyond us
  return BlockIsWhole(file, header->entry);
}

}  // namespace

Result<bool> BlockIsWhole(const ReadFile& file, const IndexEntry& entry) {
  if (entry.end() > file.size()) return false;
  std::string body;
  uint64_t begin = entry.offset + kBlockHeaderSize;
  FLINT_RETURN_IF_ERROR(file.Read(begin, static_cast<size_t>(entry.end() - begin), &body));
  return Crc32c(body) == entry.body_checksum;
}

Result<bool> SomethingWholeAfter(const ReadFile& file, uint32_t salt, uint64_t from) {
  uint64_t offset = (from + kAlignment - 1) / kAlignment * kAlignment;
  std::string chunk;
  while (offset + kBlockHeaderSize <= file.size()) {
    FLINT_RETURN_IF_ERROR(file.Read(offset, kChunk + kBlockHeaderSize, &chunk));
    size_t last = std::min(kChunk, chunk.size());
    for (size_t at = 0; at < last; at += kAlignment) {
      std::string_view bytes = std::string_view(chunk).substr(at);
      if (!bytes.starts_with("FL")) continue;
      FLINT_ASSIGN_OR_RETURN(bool whole, WholeAt(file, salt, bytes, offset + at));
      if (whole) return true;
    }
    offset += kChunk;
  }
  return false;
}

Result<bool> LooksUnwritten(const ReadFile& file, uint64_t from, uint64_t to) {
  std::string bytes;
  FLINT_RETURN_IF_ERROR(file.Read(file.size() - 1, 1, &bytes));
  if (OnlyZeros(bytes)) return true;
  while (from < to) {
    uint64_t sector_end = std::min(to, (from / kSectorSize + 1) * kSectorSize);
    FLINT_RETURN_IF_ERROR(file.Read(from, static_cast<size_t>(sector_end - from), &bytes));
    if (OnlyZeros(bytes)) return true;
    from = sector_end;
  }
  return false;
}

Result<bool> OnlyZerosFrom(const ReadFile& file, uint64_t from) {
  std::string chunk;
  for (; from < file.size(); from += kChunk) {
    FLINT_RETURN_IF_ERROR(file.Read(from, kChunk, &chunk));
    if (!OnlyZeros(chunk)) return false;
  }
  return true;
}

}  // namespace flint::changelog
