#include "changelog/segment_file.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/checksum.h"

namespace flint::changelog {

Result<SegmentFile> SegmentFile::Create(const std::string& path, const FileHeader& header,
                                        int level) {
  FLINT_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Create(path));
  return SegmentFile(std::move(file), header, level);
}

SegmentFile::SegmentFile(AppendFile file, const FileHeader& header, int level)
    : file_(std::move(file)), next_sequence_(header.first_sequence), compressor_(level) {
  std::string encoded = header.Encode();
  salt_ = FileHeader::Salt(encoded);
  pending_.Append(encoded.data(), encoded.size());
  segment_.path = file_.path();
  segment_.version = header.version;
  segment_.parent = header.parent;
  segment_.first_sequence = header.first_sequence;
}

Status SegmentFile::AddBlock(BlockBuilder* block) {
  if (index_.size() == kIndexEntriesMax) {
    return Status::Invalid(path() + " has as many blocks as a segment can have: roll sooner");
  }
  std::string_view raw = block->Seal();
  BlockHeader header = block->header();
  header.entry.first_sequence = next_sequence_;
  FLINT_RETURN_IF_ERROR(AppendBlock(&header, raw));
  index_.push_back(header.entry);
  next_sequence_ += header.entry.count;
  segment_.records += header.entry.count;
  segment_.groups.Widen(header.entry.groups);
  return Status();
}

Status SegmentFile::AppendBlock(BlockHeader* header, std::string_view raw) {
  size_t start = pending_.size();
  size_t body = start + kBlockHeaderSize;
  IndexEntry& entry = header->entry;
  entry.offset = offset();
  entry.raw_size = static_cast<uint32_t>(raw.size());

  size_t bound = Compressor::Bound(raw.size());
  pending_.Resize(body + bound + kAlignment);
  FLINT_ASSIGN_OR_RETURN(size_t stored, compressor_.Compress(raw, pending_.data() + body, bound));
  header->codec = stored > 0 ? Codec::kZstd : Codec::kStored;
  if (stored == 0) {
    stored = raw.size();
    if (stored > 0) std::memcpy(pending_.data() + body, raw.data(), stored);
  }
  size_t filled = stored + FillingAfter(stored);
  std::memset(pending_.data() + body + stored, kFilling, filled - stored);
  entry.stored_size = static_cast<uint32_t>(stored);
  entry.body_checksum = Crc32c({pending_.data() + body, filled});
  header->EncodeTo(salt_, pending_.data() + start);
  pending_.Resize(body + filled);
  return Status();
}

Status SegmentFile::Flush() {
  Status written = file_.Append({pending_.data(), pending_.size()});
  pending_.Resize(0);
  return written;
}

Status SegmentFile::Sync() {
  FLINT_RETURN_IF_ERROR(Flush());
  FLINT_RETURN_IF_ERROR(file_.Sync());
  if (name_synced_) return Status();
  name_synced_ = true;
  std::string directory = std::filesystem::path(path()).parent_path().string();
  return SyncDirectory(directory.empty() ? "." : directory);
}

Status SegmentFile::AppendIndex() {
  std::string entries;
  entries.reserve(index_.size() * kIndexEntrySize);
  for (const IndexEntry& entry : index_) entry.EncodeTo(&entries);
  BlockHeader header;
  header.kind = BlockKind::kIndex;
  header.entry.count = static_cast<uint32_t>(index_.size());
  return AppendBlock(&header, entries);
}

void SegmentFile::AppendEnd(uint64_t index_offset) {
  EndRecord end;
  end.offset = offset();
  end.index_offset = index_offset;
  end.records = segment_.records;
  end.blocks = static_cast<uint32_t>(index_.size());
  end.index_checksum =
      ChecksumOf({pending_.data() + (index_offset - file_.size()), kBlockHeaderSize});
  end.groups = segment_.groups;
  std::string encoded = end.Encode(salt_);
  segment_.checksum = ChecksumOf(encoded);
  pending_.Append(encoded.data(), encoded.size());
}

Result<Segment> SegmentFile::Finish(Durability durability) {
  uint64_t index_offset = offset();
  FLINT_RETURN_IF_ERROR(AppendIndex());
  AppendEnd(index_offset);
  FLINT_RETURN_IF_ERROR(durability == Durability::kMachine ? Sync() : Flush());
  segment_.length = file_.size();
  FLINT_RETURN_IF_ERROR(file_.Close());
  return segment_;
}

}  // namespace flint::changelog
