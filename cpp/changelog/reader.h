#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/arrow_builder.h"
#include "base/file.h"
#include "base/status.h"
#include "changelog/codec.h"
#include "changelog/contents.h"
#include "changelog/record.h"
#include "changelog/record_block.h"

namespace flint::changelog {

struct ReadOptions {
  uint64_t from_sequence = 0;
  KeyGroupRange groups = KeyGroupRange::All();
  // What a handle says of the segment. Then length, last sequence number and checksum must be
  // those, and a torn file is a damaged one.
  std::optional<Segment> expected;
};

// Reads the records of a segment, block by block, in order, and only the blocks in which something
// that was asked for can be. Every byte that is read is checked first; damage is Corruption with
// file and offset, and the reader stays there. One thread at a time.
//
// A segment without its end (its writer died, or still writes) is `torn`: it is read up to the last
// block that was whole when the reader was opened.
class Reader {
 public:
  static Result<std::unique_ptr<Reader>> Open(const std::string& path, ReadOptions options = {});

  // Decodes the next block that holds selected records, and narrows it to them. False at the end.
  // At most one block is in memory, however large the file.
  Result<bool> Next(RecordBlock* block);

  // No further block is looked at: Next would say false.
  bool AtEnd() const { return next_ == contents_->blocks.size(); }

  // A reader of the same file as it was found, with the same options, at its beginning.
  std::unique_ptr<Reader> FromStart() const;

  bool torn() const { return contents_->torn; }
  // What the whole file holds; where it is torn, what can be read, with a checksum of 0.
  const Segment& segment() const { return contents_->segment; }
  const std::string& written_by() const { return contents_->header.written_by; }

 private:
  Reader(std::shared_ptr<const ReadFile> file, std::shared_ptr<const Contents> contents,
         uint64_t from_sequence, KeyGroupRange groups);
  Status CheckExpected(const Segment& expected) const;
  Status ReadBlock(const IndexEntry& entry, RecordBlock* block);
  Result<ArrowBuffer> ReadBody(const BlockHeader& header, std::string_view body,
                               ArrowBuffer memory);

  std::shared_ptr<const ReadFile> file_;
  std::shared_ptr<const Contents> contents_;
  uint64_t from_sequence_;
  KeyGroupRange groups_;
  size_t next_ = 0;  // of contents_->blocks
  Status error_;
  std::string stored_;
  Decompressor decompressor_;
};

}  // namespace flint::changelog
