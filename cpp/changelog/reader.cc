#include "changelog/reader.h"

#include <utility>

#include "base/checksum.h"

namespace flint::changelog {

Result<std::unique_ptr<Reader>> Reader::Open(const std::string& path, ReadOptions options) {
  FLINT_ASSIGN_OR_RETURN(ReadFile file, ReadFile::Open(path));
  FLINT_ASSIGN_OR_RETURN(Contents contents, FindContents(file));
  std::unique_ptr<Reader> reader(new Reader(std::make_shared<const ReadFile>(std::move(file)),
                                            std::make_shared<const Contents>(std::move(contents)),
                                            options.from_sequence, options.groups));
  if (options.expected.has_value()) {
    FLINT_RETURN_IF_ERROR(reader->CheckExpected(*options.expected));
  }
  return reader;
}

Reader::Reader(std::shared_ptr<const ReadFile> file, std::shared_ptr<const Contents> contents,
               uint64_t from_sequence, KeyGroupRange groups)
    : file_(std::move(file)),
      contents_(std::move(contents)),
      from_sequence_(from_sequence),
      groups_(groups) {}

std::unique_ptr<Reader> Reader::FromStart() const {
  return std::unique_ptr<Reader>(new Reader(file_, contents_, from_sequence_, groups_));
}

Status Reader::CheckExpected(const Segment& expected) const {
  const Segment& found = contents_->segment;
  std::string where = file_->path() + ": ";
  if (torn()) {
    return Status::Corruption(where + "cut short at offset " + std::to_string(found.length) +
                              ", and its handle says that it was complete with " +
                              std::to_string(expected.length) + " bytes");
  }
  bool same = found.length == expected.length && found.checksum == expected.checksum &&
              found.last_sequence() == expected.last_sequence();
  if (same) return Status();
  return Status::Corruption(
      where + "another segment than its handle names: " + std::to_string(found.length) +
      " bytes, last sequence number " + std::to_string(found.last_sequence()) + ", checksum " +
      std::to_string(found.checksum) + " (offset " + std::to_string(found.length - kEndRecordSize) +
      "), not " + std::to_string(expected.length) + ", " +
      std::to_string(expected.last_sequence()) + ", " + std::to_string(expected.checksum));
}

Result<bool> Reader::Next(RecordBlock* block) {
  FLINT_RETURN_IF_ERROR(error_);
  while (next_ < contents_->blocks.size()) {
    const IndexEntry& entry = contents_->blocks[next_++];
    if (entry.first_sequence + entry.count <= from_sequence_) continue;
    if (!groups_.Meets(entry.groups)) continue;
    error_ = ReadBlock(entry, block).WithContext(file_->path());
    FLINT_RETURN_IF_ERROR(error_);
    block->Select(from_sequence_, groups_);
    if (block->rows() > 0) return true;
  }
  return false;
}

Status Reader::ReadBlock(const IndexEntry& entry, RecordBlock* block) {
  size_t size = static_cast<size_t>(entry.end() - entry.offset);
  FLINT_RETURN_IF_ERROR(file_->Read(entry.offset, size, &stored_));
  std::string where = "damaged at offset " + std::to_string(entry.offset);
  if (!BlockHeader::IsWhole(stored_, contents_->salt, entry.offset)) {
    return Status::Corruption(where + ": the block's header does not fit its checksum");
  }
  FLINT_ASSIGN_OR_RETURN(BlockHeader header, BlockHeader::Decode(stored_));
  if (header.kind != BlockKind::kRecords || header.entry != entry) {
    return Status::Corruption(where + ": the block is another one than the index says");
  }
  std::string_view body = std::string_view(stored_).substr(kBlockHeaderSize);
  if (Crc32c(body) != entry.body_checksum) {
    return Status::Corruption(where + ": the block does not fit its checksum");
  }
  FLINT_ASSIGN_OR_RETURN(ArrowBuffer raw, ReadBody(header, body, block->ReleaseBytes()));
  return block->Decode(header, std::move(raw));
}

Result<ArrowBuffer> Reader::ReadBody(const BlockHeader& header, std::string_view body,
                                     ArrowBuffer memory) {
  const IndexEntry& entry = header.entry;
  std::string_view stored = body.substr(0, entry.stored_size);
  memory.Resize(0);
  if (header.codec == Codec::kStored) {
    memory.Append(stored.data(), stored.size());
    return memory;
  }
  memory.Resize(entry.raw_size);
  Status status = decompressor_.Decompress(stored, memory.data(), memory.size());
  if (status.ok()) return memory;
  return status.WithContext("damaged at offset " + std::to_string(entry.offset));
}

}  // namespace flint::changelog
