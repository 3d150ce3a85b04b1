#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/arrow_column.h"
#include "base/status.h"
#include "changelog/block_builder.h"
#include "changelog/record.h"
#include "changelog/segment_file.h"

namespace flint::changelog {

struct WriterOptions {
  VersionId version{};  // that the segment leads to, and that it starts from
  VersionId parent{};
  uint64_t first_sequence = 1;
  int level = 1;                          // zstd's
  size_t batch_bytes = 256u << 10;        // of records in a block, before compression
  size_t queue_blocks = 4;                // full blocks that wait for the background thread at most
  std::string written_by = "flintstate";  // at most 16 bytes
};

// Appends state changes to a segment. An append copies the record into the open block; full blocks
// are compressed and written by a background thread, which starts with the first of them. When
// `queue_blocks` of them wait, an append waits too. Any number of threads may call anything.
//
// What survives when a call has returned (the words are base/file.h's):
//   Append       object
//   Sync, Roll   machine: all records so far, and the file's name
//   Close        machine, or process where asked
// A block that has filled up becomes `process` durable as soon as the background thread gets to it.
//
// An error while writing, wherever it came up, poisons the writer: it is the answer to every later
// call, and nothing is retried. Destroyed without Close, the writer drops what it still holds in
// memory and leaves a torn segment: what was synced is there.
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
  // Blocks in the order in which they became full; `sequence` is the last one in the block.
  struct Sealed {
    std::unique_ptr<BlockBuilder> block;
    uint64_t sequence;
  };
  using Lock = std::unique_lock<std::mutex>;

  Writer(SegmentFile file, WriterOptions options);
  static Result<SegmentFile> CreateFile(const std::string& path, const WriterOptions& options,
                                        uint64_t first_sequence, const VersionId& version,
                                        const VersionId& parent);

  // These require append_mutex_.
  Status CheckUsable() const;
  Status AddRecord(Operation operation, uint16_t group, uint32_t table, std::string_view key,
                   std::string_view value);
  Status SealFullBlock();

  // These require mutex_, and give it up while they work on the file.
  void SealOpenBlock();  // append_mutex_ too
  void WriteFront(Lock& lock);
  Status DrainUpTo(Lock& lock, uint64_t sequence);
  Status SyncUpTo(Lock& lock, uint64_t sequence);
  Result<Segment> FinishFile(Lock& lock, Durability durability);
  void Fail(const Status& status);
  void WorkInBackground();
  void StopThread();
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  const WriterOptions options_;

  // First append_mutex_, then mutex_; never the other way round.
  mutable std::mutex append_mutex_;  // the open block, and who may seal it
  std::unique_ptr<BlockBuilder> open_;
  std::string path_;
  uint64_t last_sequence_;
  bool closed_ = false;

  mutable std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::deque<Sealed> queue_;
  std::vector<std::unique_ptr<BlockBuilder>> spare_;
  SegmentFile file_;       // belongs to whoever has set busy_
  bool busy_ = false;      // someone works on file_
  bool finished_ = false;  // file_ has its end
  bool stopping_ = false;  // the thread is to end
  uint64_t written_sequence_;
  uint64_t synced_sequence_;
  Status error_;                     // the first one
  std::atomic<bool> failed_{false};  // error_ is set: read without mutex_
  std::thread thread_;               // started under mutex_ with the first full block
};

}  // namespace flint::changelog
