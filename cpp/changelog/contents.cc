#include "changelog/contents.h"

#include <algorithm>
#include <utility>

#include "base/arrow_builder.h"
#include "base/checksum.h"
#include "changelog/codec.h"
#include "changelog/torn.h"

namespace flint::changelog {
namespace {

Status Damaged(uint64_t offset, const std::string& what) {
  return Status::Corruption("damaged at offset " + std::to_string(offset) + ": " + what);
}

// Whether `bytes`, which end with the file, can be the beginning of something that starts so.
bool Begins(std::string_view bytes, std::string_view start) {
  size_t shared = std::min(bytes.size(), start.size());
  return bytes.substr(0, shared) == start.substr(0, shared);
}

class Finder {
 public:
  explicit Finder(const ReadFile& file) : file_(file) {}

  Result<Contents> Find() {
    FLINT_ASSIGN_OR_RETURN(bool has_header, ReadFileHeader());
    if (!has_header) return std::move(contents_);
    FLINT_ASSIGN_OR_RETURN(bool has_end, ReadEnd());
    FLINT_RETURN_IF_ERROR(has_end ? ReadIndex() : Follow());
    FillSegment();
    return std::move(contents_);
  }

 private:
  // False where the file was cut before its header was complete.
  Result<bool> ReadFileHeader();
  Result<bool> ReadEnd();
  Status ReadIndex();
  Result<std::string> ReadIndexBody(const BlockHeader& header);
  Status TakeEntry(const IndexEntry& entry);
  void FillSegment();

  Status Follow();
  // Takes what begins at `at`; `*next` is where it ends, or 0 where the file's content does.
  Status FollowOne(uint64_t at, uint64_t* next);
  Status JudgeBadHeader(uint64_t at, std::string_view bytes);
  Status JudgeEnd(uint64_t at);
  Status DropTornBlocks();

  const ReadFile& file_;
  Contents contents_;
  EndRecord end_;
  std::optional<IndexEntry> index_;  // the index block, when it was met while following
};

Result<bool> Finder::ReadFileHeader() {
  std::string bytes;
  FLINT_RETURN_IF_ERROR(file_.Read(0, kFileHeaderSize, &bytes));
  contents_.torn = true;
  contents_.segment.path = file_.path();
  Result<FileHeader> header = FileHeader::Decode(bytes);
  if (!header.ok()) {
    FLINT_ASSIGN_OR_RETURN(bool nothing_follows, OnlyZerosFrom(file_, kFileHeaderSize));
    std::string_view written(bytes.data(), bytes.find_last_not_of('\0') + 1);
    bool cut = nothing_follows && Begins(written, kMagic);
    return cut ? Result<bool>(false) : Result<bool>(header.status());
  }
  contents_.header = *std::move(header);
  contents_.salt = FileHeader::Salt(bytes);
  return true;
}

Result<bool> Finder::ReadEnd() {
  if (file_.size() < kFileHeaderSize + kBlockHeaderSize + kEndRecordSize) return false;
  uint64_t offset = file_.size() - kEndRecordSize;
  std::string bytes;
  FLINT_RETURN_IF_ERROR(file_.Read(offset, kEndRecordSize, &bytes));
  if (!EndRecord::IsWhole(bytes, contents_.salt, offset)) return false;
  end_ = EndRecord::Decode(bytes);
  contents_.segment.checksum = ChecksumOf(bytes);
  contents_.torn = false;
  return true;
}

// --- A file with its end ---------------------------------------------------------------------

Status Finder::ReadIndex() {
  uint64_t at = end_.index_offset;
  std::string bytes;
  FLINT_RETURN_IF_ERROR(file_.Read(at, kBlockHeaderSize, &bytes));
  if (!BlockHeader::IsWhole(bytes, contents_.salt, at) ||
      ChecksumOf(bytes) != end_.index_checksum) {
    return Damaged(at, "no index is where the end of the file says");
  }
  FLINT_ASSIGN_OR_RETURN(BlockHeader header, BlockHeader::Decode(bytes));
  const IndexEntry& index = header.entry;
  // A block takes more bytes in the file than its entry in the index.
  bool fits = header.kind == BlockKind::kIndex && index.end() == end_.offset &&
              index.count == end_.blocks && index.raw_size == index.count * kIndexEntrySize &&
              uint64_t{index.raw_size} <= file_.size();
  if (!fits) return Damaged(at, "the index and the end of the file do not fit");
  FLINT_ASSIGN_OR_RETURN(std::string entries, ReadIndexBody(header));
  contents_.blocks.reserve(index.count);
  for (size_t i = 0; i < entries.size(); i += kIndexEntrySize) {
    FLINT_RETURN_IF_ERROR(TakeEntry(IndexEntry::Decode(entries.data() + i)));
  }
  uint64_t blocks_end = contents_.blocks.empty() ? kFileHeaderSize : contents_.blocks.back().end();
  if (blocks_end != at) return Damaged(blocks_end, "the index does not know of what stands here");
  return Status();
}

Result<std::string> Finder::ReadIndexBody(const BlockHeader& header) {
  const IndexEntry& index = header.entry;
  uint64_t begin = index.offset + kBlockHeaderSize;
  std::string stored;
  FLINT_RETURN_IF_ERROR(file_.Read(begin, static_cast<size_t>(index.end() - begin), &stored));
  if (Crc32c(stored) != index.body_checksum) return Damaged(index.offset, "the index is damaged");
  stored.resize(index.stored_size);
  if (header.codec == Codec::kStored) return stored;
  std::string entries(index.raw_size, '\0');
  Status status = Decompressor().Decompress(stored, entries.data(), entries.size());
  if (!status.ok()) return Damaged(index.offset, "the index " + status.message());
  return entries;
}

// The blocks stand one after another, and so do their sequence numbers.
Status Finder::TakeEntry(const IndexEntry& entry) {
  std::vector<IndexEntry>& blocks = contents_.blocks;
  uint64_t offset = blocks.empty() ? kFileHeaderSize : blocks.back().end();
  if (entry.offset != offset) return Damaged(offset, "the index places another block here");
  uint64_t sequence = blocks.empty() ? contents_.header.first_sequence
                                     : blocks.back().first_sequence + blocks.back().count;
  if (entry.first_sequence != sequence) {
    return Damaged(offset, "sequence numbers jump to " + std::to_string(entry.first_sequence));
  }
  blocks.push_back(entry);
  return Status();
}

void Finder::FillSegment() {
  Segment& segment = contents_.segment;
  segment.version = contents_.header.version;
  segment.parent = contents_.header.parent;
  segment.length = contents_.torn ? kFileHeaderSize : file_.size();
  segment.first_sequence = contents_.header.first_sequence;
  for (const IndexEntry& entry : contents_.blocks) {
    segment.records += entry.count;
    segment.groups.Widen(entry.groups);
  }
  if (contents_.torn && !contents_.blocks.empty()) segment.length = contents_.blocks.back().end();
}

// --- A file without its end ------------------------------------------------------------------

Status Finder::Follow() {
  uint64_t at = kFileHeaderSize;
  while (at != 0 && at < file_.size()) {
    uint64_t next = 0;
    FLINT_RETURN_IF_ERROR(FollowOne(at, &next));
    at = next;
  }
  return DropTornBlocks();
}

Status Finder::FollowOne(uint64_t at, uint64_t* next) {
  std::string bytes;
  FLINT_RETURN_IF_ERROR(file_.Read(at, kBlockHeaderSize, &bytes));
  if (EndRecord::IsWhole(bytes, contents_.salt, at)) return JudgeEnd(at);
  if (!BlockHeader::IsWhole(bytes, contents_.salt, at)) return JudgeBadHeader(at, bytes);
  FLINT_ASSIGN_OR_RETURN(BlockHeader header, BlockHeader::Decode(bytes));
  if (index_.has_value()) return Damaged(at, "a block follows the index");
  if (header.entry.end() > file_.size()) return Status();
  *next = header.entry.end();
  if (header.kind == BlockKind::kRecords) return TakeEntry(header.entry);
  index_ = header.entry;
  return Status();
}

Status Finder::JudgeEnd(uint64_t at) {
  FLINT_ASSIGN_OR_RETURN(bool only_zeros, OnlyZerosFrom(file_, at + kEndRecordSize));
  if (only_zeros) return Status();
  return Damaged(at + kEndRecordSize, "something follows the end of the segment");
}

Status Finder::JudgeBadHeader(uint64_t at, std::string_view bytes) {
  FLINT_ASSIGN_OR_RETURN(bool whole_after,
                         SomethingWholeAfter(file_, contents_.salt, at + kAlignment));
  if (whole_after) return Damaged(at, "no block begins here, but whole ones follow");
  bool cut =
      bytes.size() < kBlockHeaderSize && (Begins(bytes, kBlockMarker) || Begins(bytes, kEndMarker));
  if (cut) return Status();
  FLINT_ASSIGN_OR_RETURN(bool unwritten, LooksUnwritten(file_, at, at + bytes.size()));
  return unwritten ? Status() : Damaged(at, "no block begins here");
}

Status Finder::DropTornBlocks() {
  if (!contents_.torn) return Status();
  if (index_.has_value()) {
    FLINT_ASSIGN_OR_RETURN(bool whole, BlockIsWhole(file_, *index_));
    if (whole) return Status();
    FLINT_ASSIGN_OR_RETURN(bool unwritten, LooksUnwritten(file_, index_->offset, index_->end()));
    if (!unwritten) return Damaged(index_->offset, "the index is damaged");
  }
  std::vector<IndexEntry>& blocks = contents_.blocks;
  while (!blocks.empty()) {
    const IndexEntry& last = blocks.back();
    FLINT_ASSIGN_OR_RETURN(bool whole, BlockIsWhole(file_, last));
    if (whole) return Status();
    FLINT_ASSIGN_OR_RETURN(bool unwritten, LooksUnwritten(file_, last.offset, last.end()));
    if (!unwritten) return Damaged(last.offset, "the block's checksum does not fit");
    blocks.pop_back();
  }
  return Status();
}

}  // namespace

Result<Contents> FindContents(const ReadFile& file) {
  Result<Contents> contents = Finder(file).Find();
  if (contents.ok()) return contents;
  return contents.status().WithContext(file.path());
}

}  // namespace flint::changelog
