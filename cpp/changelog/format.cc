#include "changelog/format.h"

#include <bit>
#include <cstring>

#include "base/checksum.h"

namespace flint::changelog {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

template <class T>
void Put(char* out, size_t at, T value) {
  std::memcpy(out + at, &value, sizeof value);
}

template <class T>
T Get(const char* bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes + at, sizeof value);
  return value;
}

void PutGroups(char* out, size_t at, KeyGroupRange groups) {
  Put(out, at, groups.first);
  Put(out, at + 2, groups.last);
}

KeyGroupRange GetGroups(const char* bytes, size_t at) {
  return {Get<uint16_t>(bytes, at), Get<uint16_t>(bytes, at + 2)};
}

// Block headers and end records alike: marker, checksum of bytes 8 to 64, own offset.
constexpr size_t kChecksumAt = 4;
constexpr size_t kOwnOffsetAt = 8;

uint32_t SaltedChecksum(std::string_view bytes, uint32_t salt) {
  return ExtendCrc32c(salt, bytes.substr(kOwnOffsetAt, kBlockHeaderSize - kOwnOffsetAt));
}

bool IsWholeStructure(std::string_view bytes, std::string_view marker, uint32_t salt,
                      uint64_t offset) {
  return bytes.size() >= kBlockHeaderSize && bytes.starts_with(marker) &&
         Get<uint64_t>(bytes.data(), kOwnOffsetAt) == offset &&
         ChecksumOf(bytes) == SaltedChecksum(bytes, salt);
}

}  // namespace

uint32_t ChecksumOf(std::string_view encoded) { return Get<uint32_t>(encoded.data(), kChecksumAt); }

std::string FileHeader::Encode() const {
  std::string out(kFileHeaderSize, '\0');
  kMagic.copy(out.data(), kMagic.size());
  Put(out.data(), 12, format);
  std::memcpy(out.data() + 16, version.data(), version.size());
  std::memcpy(out.data() + 32, parent.data(), parent.size());
  written_by.copy(out.data() + 48, 16);
  Put(out.data(), 64, first_sequence);
  Put(out.data(), 8, Crc32c(std::string_view(out).substr(12)));
  return out;
}

uint32_t FileHeader::Salt(std::string_view encoded) { return Get<uint32_t>(encoded.data(), 8); }

Result<FileHeader> FileHeader::Decode(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return Status::Corruption("not a changelog segment, or damaged at its beginning (offset 0)");
  }
  if (bytes.size() < kFileHeaderSize ||
      Salt(bytes) != Crc32c(bytes.substr(12, kFileHeaderSize - 12))) {
    return Status::Corruption("the file header at offset 0 is damaged");
  }
  FileHeader header;
  header.format = Get<uint16_t>(bytes.data(), 12);
  if (header.format != kFormat) {
    return Status::Invalid("written in changelog format " + std::to_string(header.format) +
                           " (offset 12), and this version reads format 1: use a newer "
                           "flintstate");
  }
  std::memcpy(header.version.data(), bytes.data() + 16, header.version.size());
  std::memcpy(header.parent.data(), bytes.data() + 32, header.parent.size());
  header.written_by = bytes.substr(48, 16);
  header.written_by.resize(std::strlen(header.written_by.c_str()));
  header.first_sequence = Get<uint64_t>(bytes.data(), 64);
  if (header.first_sequence == 0 || header.first_sequence > kFirstSequenceMax) {
    return Status::Corruption("the file header names " + std::to_string(header.first_sequence) +
                              " as the first sequence number (offset 64): it is from 1 to 2^62");
  }
  return header;
}

void IndexEntry::EncodeTo(std::string* out) const {
  char bytes[kIndexEntrySize];
  Put(bytes, 0, offset);
  Put(bytes, 8, first_sequence);
  Put(bytes, 16, count);
  Put(bytes, 20, stored_size);
  Put(bytes, 24, raw_size);
  Put(bytes, 28, body_checksum);
  PutGroups(bytes, 32, groups);
  Put(bytes, 36, stream);
  out->append(bytes, sizeof bytes);
}

IndexEntry IndexEntry::Decode(const char* bytes) {
  IndexEntry entry;
  entry.offset = Get<uint64_t>(bytes, 0);
  entry.first_sequence = Get<uint64_t>(bytes, 8);
  entry.count = Get<uint32_t>(bytes, 16);
  entry.stored_size = Get<uint32_t>(bytes, 20);
  entry.raw_size = Get<uint32_t>(bytes, 24);
  entry.body_checksum = Get<uint32_t>(bytes, 28);
  entry.groups = GetGroups(bytes, 32);
  entry.stream = Get<uint32_t>(bytes, 36);
  return entry;
}

void BlockHeader::EncodeTo(uint32_t salt, char* out) const {
  std::memset(out, 0, kBlockHeaderSize);
  kBlockMarker.copy(out, kBlockMarker.size());
  Put(out, 8, entry.offset);
  Put(out, 16, entry.first_sequence);
  Put(out, 24, entry.count);
  Put(out, 28, entry.stored_size);
  Put(out, 32, entry.raw_size);
  Put(out, 36, entry.body_checksum);
  Put(out, 40, keys_size);
  Put(out, 44, values_size);
  PutGroups(out, 48, entry.groups);
  Put(out, 52, entry.stream);
  Put(out, 56, kind);
  Put(out, 57, codec);
  Put(out, kChecksumAt, SaltedChecksum({out, kBlockHeaderSize}, salt));
}

bool BlockHeader::IsWhole(std::string_view bytes, uint32_t salt, uint64_t offset) {
  return IsWholeStructure(bytes, kBlockMarker, salt, offset);
}

Result<BlockHeader> BlockHeader::Decode(std::string_view bytes) {
  const char* in = bytes.data();
  BlockHeader header;
  IndexEntry& entry = header.entry;
  entry.offset = Get<uint64_t>(in, 8);
  entry.first_sequence = Get<uint64_t>(in, 16);
  entry.count = Get<uint32_t>(in, 24);
  entry.stored_size = Get<uint32_t>(in, 28);
  entry.raw_size = Get<uint32_t>(in, 32);
  entry.body_checksum = Get<uint32_t>(in, 36);
  header.keys_size = Get<uint32_t>(in, 40);
  header.values_size = Get<uint32_t>(in, 44);
  entry.groups = GetGroups(in, 48);
  entry.stream = Get<uint32_t>(in, 52);
  header.kind = static_cast<BlockKind>(Get<uint8_t>(in, 56));
  header.codec = static_cast<Codec>(Get<uint8_t>(in, 57));

  std::string where = "the block at offset " + std::to_string(entry.offset);
  bool known = (header.kind == BlockKind::kRecords || header.kind == BlockKind::kIndex) &&
               (header.codec == Codec::kStored || header.codec == Codec::kZstd) &&
               bytes.substr(58, 6) == std::string_view("\0\0\0\0\0\0", 6) && entry.stream == 0;
  if (!known) return Status::Invalid(where + " was written by a newer flintstate: use that one");
  uint32_t count_max = header.kind == BlockKind::kRecords ? kBlockRecordsMax : kIndexEntriesMax;
  bool sane = entry.count <= count_max && entry.raw_size <= kBlockRawMax &&
              (header.codec == Codec::kZstd ? entry.stored_size < entry.raw_size
                                            : entry.stored_size == entry.raw_size) &&
              uint64_t{header.keys_size} + header.values_size <= entry.raw_size;
  if (!sane) return Status::Corruption(where + " declares sizes beyond the format's limits");
  return header;
}

std::string EndRecord::Encode(uint32_t salt) const {
  std::string out(kEndRecordSize, '\0');
  kEndMarker.copy(out.data(), kEndMarker.size());
  Put(out.data(), 8, offset);
  Put(out.data(), 16, index_offset);
  Put(out.data(), 24, records);
  Put(out.data(), 32, blocks);
  Put(out.data(), 36, index_checksum);
  PutGroups(out.data(), 40, groups);
  out.back() = kFilling;
  Put(out.data(), kChecksumAt, SaltedChecksum(out, salt));
  return out;
}

bool EndRecord::IsWhole(std::string_view bytes, uint32_t salt, uint64_t offset) {
  return IsWholeStructure(bytes, kEndMarker, salt, offset);
}

EndRecord EndRecord::Decode(std::string_view bytes) {
  EndRecord end;
  end.offset = Get<uint64_t>(bytes.data(), 8);
  end.index_offset = Get<uint64_t>(bytes.data(), 16);
  end.records = Get<uint64_t>(bytes.data(), 24);
  end.blocks = Get<uint32_t>(bytes.data(), 32);
  end.index_checksum = Get<uint32_t>(bytes.data(), 36);
  end.groups = GetGroups(bytes.data(), 40);
  return end;
}

}  // namespace flint::changelog
