#include "changelog/segment_file.h"

#include <filesystem>
#include <utility>

namespace flint::changelog {

Result<SegmentFile> SegmentFile::Create(const std::string& path, const FileHeader& header) {
  FLINT_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Create(path));
  return SegmentFile(std::move(file), header);
}

SegmentFile::SegmentFile(AppendFile file, const FileHeader& header)
    : file_(std::move(file)), header_(header.Encode()), salt_(FileHeader::Salt(header_)) {
  segment_.path = file_.path();
  segment_.version = header.version;
  segment_.parent = header.parent;
  segment_.first_sequence = header.first_sequence;
}

Status SegmentFile::AppendHeader() { return file_.size() == 0 ? file_.Append(header_) : Status(); }

Status SegmentFile::AddBlocks(std::span<EncodedBlock* const> blocks) {
  if (index_.size() + blocks.size() > kIndexEntriesMax) {
    return Status::Invalid(path() + " has as many blocks as a segment can have: roll sooner");
  }
  FLINT_RETURN_IF_ERROR(AppendHeader());
  pieces_.clear();
  uint64_t offset = file_.size();
  for (EncodedBlock* block : blocks) {
    pieces_.push_back(block->Place(offset, segment_.first_sequence + segment_.records, salt_));
    offset += pieces_.back().size();
    const IndexEntry& entry = block->entry();
    index_.push_back(entry);
    segment_.records += entry.count;
    segment_.groups.Widen(entry.groups);
  }
  return file_.Append(pieces_);
}

Status SegmentFile::Sync() {
  FLINT_RETURN_IF_ERROR(AppendHeader());
  FLINT_RETURN_IF_ERROR(file_.Sync());
  if (name_synced_) return Status();
  name_synced_ = true;
  std::string directory = std::filesystem::path(path()).parent_path().string();
  return SyncDirectory(directory.empty() ? "." : directory);
}

Status SegmentFile::AppendIndex(Compressor* compressor) {
  std::string entries;
  entries.reserve(index_.size() * kIndexEntrySize);
  for (const IndexEntry& entry : index_) entry.EncodeTo(&entries);
  BlockHeader header;
  header.kind = BlockKind::kIndex;
  header.entry.count = static_cast<uint32_t>(index_.size());
  ArrowBuffer raw;
  raw.Resize(kBlockHeaderSize);
  raw.Append(entries.data(), entries.size());
  EncodedBlock index;
  FLINT_RETURN_IF_ERROR(index.Encode(header, &raw, compressor));
  uint64_t offset = file_.size();
  std::string_view block = index.Place(offset, /*first_sequence=*/0, salt_);
  FLINT_RETURN_IF_ERROR(file_.Append(block));
  return AppendEnd(offset, ChecksumOf(block));
}

Status SegmentFile::AppendEnd(uint64_t index_offset, uint32_t index_checksum) {
  EndRecord end;
  end.offset = file_.size();
  end.index_offset = index_offset;
  end.records = segment_.records;
  end.blocks = static_cast<uint32_t>(index_.size());
  end.index_checksum = index_checksum;
  end.groups = segment_.groups;
  std::string encoded = end.Encode(salt_);
  segment_.checksum = ChecksumOf(encoded);
  return file_.Append(encoded);
}

Result<Segment> SegmentFile::Finish(Durability durability, Compressor* compressor) {
  FLINT_RETURN_IF_ERROR(AppendHeader());
  FLINT_RETURN_IF_ERROR(AppendIndex(compressor));
  if (durability == Durability::kMachine) FLINT_RETURN_IF_ERROR(Sync());
  segment_.length = file_.size();
  FLINT_RETURN_IF_ERROR(file_.Close());
  return segment_;
}

}  // namespace flint::changelog
