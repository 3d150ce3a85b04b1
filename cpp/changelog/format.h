#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "changelog/record.h"

namespace flint::changelog {

// The layout of a segment, as docs/format/changelog.md specifies it: constants, and the four
// fixed-width structures to and from bytes. Nothing here touches a file.

constexpr std::string_view kMagic(
    "\x89"
    "FLCH\r\n\x1a",
    8);
constexpr std::string_view kBlockMarker = "FLBK";
constexpr std::string_view kEndMarker = "FLND";
constexpr uint16_t kFormat = 1;
constexpr size_t kFileHeaderSize = 72;
constexpr size_t kBlockHeaderSize = 64;
constexpr size_t kIndexEntrySize = 40;
constexpr size_t kEndRecordSize = 64;
constexpr size_t kAlignment = 8;
constexpr size_t kSectorSize = 512;  // what a disk writes whole or not at all
constexpr char kFilling = '\xFF';

constexpr uint32_t kBlockRecordsMax = 1u << 20;
constexpr uint32_t kIndexEntriesMax = 1u << 22;
constexpr uint32_t kBlockRawMax = 256u << 20;
constexpr uint64_t kFirstSequenceMax = uint64_t{1} << 62;  // what follows it is never counted out
constexpr uint32_t kRecordBytesMax = 128u << 20;           // key and value together

// Bytes that follow a body of `stored_size`: 1 to 8, so that the block ends at a multiple of 8.
constexpr size_t FillingAfter(size_t stored_size) { return kAlignment - stored_size % kAlignment; }

struct FileHeader {
  uint16_t format = kFormat;
  VersionId version{};
  VersionId parent{};
  std::string written_by;  // at most 16 bytes
  uint64_t first_sequence = 1;

  std::string Encode() const;
  // The checksum of the header: every later checksum of the file continues from it.
  static uint32_t Salt(std::string_view encoded);
  // `bytes` are the first of the file, kFileHeaderSize or fewer. Corruption where they are damaged
  // or not ours, Invalid where the format is a newer one.
  static Result<FileHeader> Decode(std::string_view bytes);
};

enum class BlockKind : uint8_t { kRecords = 1, kIndex = 2 };
enum class Codec : uint8_t { kStored = 0, kZstd = 1 };

// What the index repeats of a records block.
struct IndexEntry {
  uint64_t offset = 0;
  uint64_t first_sequence = 0;
  uint32_t count = 0;
  uint32_t stored_size = 0;
  uint32_t raw_size = 0;
  uint32_t body_checksum = 0;
  KeyGroupRange groups{0, 0};
  uint32_t stream = 0;

  // Where the block ends, its filling included.
  uint64_t end() const {
    return offset + kBlockHeaderSize + stored_size + FillingAfter(stored_size);
  }
  void EncodeTo(std::string* out) const;
  static IndexEntry Decode(const char* bytes);
  bool operator==(const IndexEntry&) const = default;
};

struct BlockHeader {
  IndexEntry entry;
  uint32_t keys_size = 0;
  uint32_t values_size = 0;
  BlockKind kind = BlockKind::kRecords;
  Codec codec = Codec::kStored;

  void EncodeTo(uint32_t salt, char* out) const;  // kBlockHeaderSize bytes
  // Marker and checksum fit, and the header says that it stands at `offset`.
  static bool IsWhole(std::string_view bytes, uint32_t salt, uint64_t offset);
  // Requires IsWhole. Invalid where it uses what this format has not; Corruption where its sizes
  // are beyond the format's limits or contradict each other.
  static Result<BlockHeader> Decode(std::string_view bytes);
};

struct EndRecord {
  uint64_t offset = 0;
  uint64_t index_offset = 0;
  uint64_t records = 0;
  uint32_t blocks = 0;
  uint32_t index_checksum = 0;  // the index block's header checksum
  KeyGroupRange groups;

  std::string Encode(uint32_t salt) const;
  static bool IsWhole(std::string_view bytes, uint32_t salt, uint64_t offset);
  static EndRecord Decode(std::string_view bytes);  // requires IsWhole
};

// The checksum field of an encoded block header or end record.
uint32_t ChecksumOf(std::string_view encoded);

}  // namespace flint::changelog
