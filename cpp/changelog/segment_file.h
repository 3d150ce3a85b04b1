#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "changelog/encoded_block.h"
#include "changelog/format.h"
#include "changelog/record.h"

namespace flint::changelog {

// Whether closing waits for the device: `process` and `machine` as base/file.h has them.
enum class Durability : uint8_t { kProcess, kMachine };

// One segment while it is being written: encoded blocks go in, and stand in the file in that order.
// One thread at a time. After an error nothing more may be called. Destroyed without Finish, it
// leaves a segment without an end, which readers call torn.
class SegmentFile {
 public:
  // Fails where `path` exists. Nothing is written yet.
  static Result<SegmentFile> Create(const std::string& path, const FileHeader& header);

  // Writes blocks that hold some records, by one call of the kernel mostly: `process` durable.
  Status AddBlocks(std::span<EncodedBlock* const> blocks);
  // Waits until the device has all blocks so far and the file's name: `machine` durable.
  Status Sync();
  // Writes index and end, and closes.
  Result<Segment> Finish(Durability durability, Compressor* compressor);

  const std::string& path() const { return file_.path(); }

 private:
  SegmentFile(AppendFile file, const FileHeader& header);
  Status AppendHeader();
  Status AppendIndex(Compressor* compressor);
  Status AppendEnd(uint64_t index_offset, uint32_t index_checksum);

  AppendFile file_;
  Segment segment_;
  std::string header_;  // of the file
  uint32_t salt_ = 0;
  std::vector<IndexEntry> index_;
  std::vector<std::string_view> pieces_;  // of what is being written: kept for its memory
  bool name_synced_ = false;
};

}  // namespace flint::changelog
