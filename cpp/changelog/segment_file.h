#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/file.h"
#include "base/status.h"
#include "changelog/block_builder.h"
#include "changelog/codec.h"
#include "changelog/format.h"
#include "changelog/record.h"

namespace flint::changelog {

// Whether closing waits for the device: `process` and `machine` as base/file.h has them.
enum class Durability : uint8_t { kProcess, kMachine };

// One segment while it is being written: blocks go in at the front, bytes come out in the file. One
// thread at a time. After an error nothing more may be called. Destroyed without Finish, it leaves
// a segment without an end, which readers call torn.
class SegmentFile {
 public:
  // Fails where `path` exists.
  static Result<SegmentFile> Create(const std::string& path, const FileHeader& header, int level);

  // Seals, compresses and takes over the records of `block`, which must hold some.
  Status AddBlock(BlockBuilder* block);
  // Hands all blocks so far to the kernel: `process` durable.
  Status Flush();
  // Flushes, then waits until the device has them and the file's name: `machine` durable.
  Status Sync();
  // Writes index and end, and closes.
  Result<Segment> Finish(Durability durability);

  const std::string& path() const { return file_.path(); }
  uint64_t next_sequence() const { return next_sequence_; }

 private:
  SegmentFile(AppendFile file, const FileHeader& header, int level);
  // Completes `header` and appends header, body and filling to the bytes to be written.
  Status AppendBlock(BlockHeader* header, std::string_view raw);
  Status AppendIndex();
  void AppendEnd(uint64_t index_offset);
  uint64_t offset() const { return file_.size() + pending_.size(); }

  AppendFile file_;
  Segment segment_;
  uint32_t salt_ = 0;
  uint64_t next_sequence_;
  Compressor compressor_;
  ArrowBuffer pending_;  // not yet written
  std::vector<IndexEntry> index_;
  bool name_synced_ = false;
};

}  // namespace flint::changelog
