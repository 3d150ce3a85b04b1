#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/arrow_column.h"
#include "base/brief_lock.h"
#include "base/fork.h"
#include "base/status.h"
#include "changelog/pipeline.h"
#include "changelog/record.h"
#include "changelog/segment_file.h"

namespace flint::changelog {

struct WriterOptions {
  VersionId version{};  // that the segment leads to, and that it starts from
  VersionId parent{};
  uint64_t first_sequence = 1;
  int level = 1;                    // zstd's
  size_t batch_bytes = 256u << 10;  // of records in a block, before compression
  size_t queue_bytes = 1u << 20;    // of full blocks that wait at most; two of them may always
  std::string written_by = "flintstate";  // at most 16 bytes
};

// Appends state changes to a segment. An append copies the record into the open block; full blocks
// are compressed and written by a background thread, which starts with the first of them. When
// `queue_bytes` of them wait, an append helps it with one. Any number of threads may call anything.
//
// What survives when a call has returned (the words are base/file.h's):
//   Append       object
//   Sync, Roll   machine: all records so far, and the file's name
//   Close        machine, or process where asked
// A block that has filled up becomes `process` durable as soon as the background thread gets to it.
//
// An error while writing, wherever it came up, poisons the writer: it is the answer to every later
// call, and nothing is retried. In a forked child of its process a writer answers with Closed, and
// what its parent has in memory and in the file is left alone. Destroyed without Close, the writer
// drops what it still holds in memory and leaves a torn segment: what was synced is there.
class Writer {
 public:
  // Fails where `path` exists: a segment's name is written once, and to go on after a crash means a
  // new segment.
  static Result<std::unique_ptr<Writer>> Create(const std::string& path, WriterOptions options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Returns the record's sequence number; `record.sequence` is not looked at. Invalid, without
  // harm to the writer, where key and value together exceed 128 MiB or a delete has a value.
  Result<uint64_t> Append(const Record& record);
  // The same where it costs a copy and nothing else; none where it might wait, for another thread
  // or because the block will be full. For callers that hold a lock of their own meanwhile.
  std::optional<Result<uint64_t>> AppendAtOnce(const Record& record);

  // Many records that share operation and table. `values` is null exactly for deletes; `groups`
  // (uint16, as long as the keys) may be null: all are then of `group`. Neither keys nor values may
  // hold a null. Their sequence numbers follow each other, whoever else appends; returns the last
  // one, which with no record is the last one so far.
  struct Many {
    Operation operation = Operation::kPut;
    uint32_t table = 0;
    uint16_t group = 0;
    const ColumnView* keys = nullptr;
    const ColumnView* values = nullptr;
    const ColumnView* groups = nullptr;
  };
  Result<uint64_t> AppendMany(const Many& many);

  // Returns the last sequence number that is `machine` durable now. Appends go on meanwhile, as
  // long as the queue has room.
  Result<uint64_t> Sync();

  // Closes the segment and goes on, with the next sequence number, in a new one at `path` that
  // leads from `parent` to `version`. Where that can't be made, the error leaves all as it was.
  Result<Segment> Roll(const std::string& path, const VersionId& version, const VersionId& parent);

  // Closes the segment. Afterwards every call, this one too, is answered with Closed.
  Result<Segment> Close(Durability durability);

  // Of the last record that was appended; one before the first where there is none.
  uint64_t last_sequence() const;
  // Of the segment that is being written, or was last.
  std::string path() const;

 private:
  Writer(SegmentFile file, WriterOptions options);
  static Result<SegmentFile> CreateFile(const std::string& path, const WriterOptions& options,
                                        uint64_t first_sequence, const VersionId& version,
                                        const VersionId& parent);

  bool Forked() const { return ForkGeneration() != generation_; }
  // Holds append_mutex_, but in a forked child, where whoever had it may be gone.
  std::unique_lock<BriefLock> Lock() const;

  // All of these require Lock().
  Status CheckUsable() const;
  Result<uint64_t> AddRecord(const Record& record);
  Status AddRows(const Many& many);
  bool IsFull() const {
    const BlockBuilder& block = open_->builder;
    return block.raw_size() >= options_.batch_bytes || block.count() == kBlockRecordsMax;
  }
  Status PushOpenBlock();
  Status PushRest();
  std::unique_ptr<Block> ReplaceOpenBlock();
  Status OutOfMemory();

  const WriterOptions options_;
  const uint64_t generation_ = ForkGeneration();  // of the process that made it

  mutable BriefLock append_mutex_;  // the open block, and who may push it
  std::unique_ptr<Block> open_;
  std::string path_;
  uint64_t last_sequence_;
  bool closed_ = false;

  std::unique_ptr<Pipeline> pipeline_;  // locks for itself
};

}  // namespace flint::changelog
