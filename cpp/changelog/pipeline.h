#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/gather.h"
#include "base/status.h"
#include "changelog/block_builder.h"
#include "changelog/codec.h"
#include "changelog/encoded_block.h"
#include "changelog/segment_file.h"

namespace flint::changelog {

// A block of records, from the first one to its place in the file.
struct Block {
  BlockBuilder builder;
  EncodedBlock encoded;
};

// The way of blocks into a file: a bounded queue, a background thread that encodes and writes what
// is in it, and whoever waits, who does the same meanwhile instead of nothing. So a writer that is
// faster than one thread can compress gets a second one, its own, and a small sync costs no switch
// of threads. Blocks are encoded by several threads at a time, and written in order, small ones
// several at once: the background thread waits for more of them, but not for long.
//
// Where blocks did not shrink, only a sample of the next ones is compressed, and all of them again
// as soon as a sample shrinks; every few blocks all of one is tried whatever its sample says.
//
// Without a thread, where the system has none to give, whoever pushes and waits does all the work.
//
// Any number of threads may call anything, but for what is said below. The first error, wherever it
// came up, is the answer to every later call: nothing is retried.
class Pipeline {
 public:
  // Blocks come after record `last_sequence`; `queue_blocks` of them wait at most, which may be
  // kQueueBlocksMax, and a quarter of that is worth a write.
  Pipeline(SegmentFile file, int level, size_t queue_blocks, uint64_t last_sequence);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // An empty block, mostly one that was used before.
  std::unique_ptr<Block> NewBlock();

  // Takes over a block that holds records, up to number `last_sequence`, and returns as soon as the
  // queue has room for it. Callers see to it that blocks come in order.
  Status Push(std::unique_ptr<Block> block, uint64_t last_sequence);
  // The same for a block that the caller will wait for anyway: does not look for room.
  void PushLast(std::unique_ptr<Block> block, uint64_t last_sequence);

  // Returns when the records up to number `sequence` are `process` durable, or `machine` durable.
  Status Flush(uint64_t sequence);
  Status Sync(uint64_t sequence);

  // Ends the file, and goes on in another one. No block may be on its way, nor be pushed between.
  Result<Segment> Finish(Durability durability);
  void GoOn(SegmentFile next);

  // Stops it, for memory ran out where a record was being added.
  void FailForMemory();
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status error() const;

  static constexpr size_t kQueueBlocksMax = kPiecesAtOnce;

 private:
  enum class Stage { kWaiting, kEncoding, kEncoded };
  enum class Did { kNothing, kEncode, kWrite };
  struct Queued {
    std::unique_ptr<Block> block;
    uint64_t last_sequence;
    Stage stage = Stage::kWaiting;
  };
  using Lock = std::unique_lock<std::mutex>;

  // These require mutex_; those that take the lock give it up while they work.
  Did WorkOnce(Lock& lock, uint64_t up_to);
  void Encode(Lock& lock, Queued* queued);
  void WriteFront(Lock& lock, size_t count);
  Effort NextEffort();
  Status FlushUpTo(Lock& lock, uint64_t sequence);
  template <class Work>
  void WorkOnFile(Lock& lock, Work work);
  template <class Work>
  Status WithinMemory(Work work) const;
  void BeginThread();
  void SetError(const Status& status);
  // There is room for each one that is taken, so that to give it back wants no memory.
  Compressor TakeCompressor();
  void GiveBack(Compressor compressor);
  void WorkInBackground();
  void WorkUntilStopped();

  const int level_;
  const size_t queue_blocks_;
  const size_t worth_writing_;  // so many blocks

  mutable std::mutex mutex_;         // all below
  std::condition_variable changed_;  // for those who wait for blocks or the file
  std::condition_variable work_;     // for the background thread
  std::deque<Queued> queue_;
  std::vector<Queued> writing_;  // belongs to whoever has set file_busy_, as file_ does
  size_t unshrunk_ = 0;          // so many blocks in a row had to be stored as they are
  size_t samples_ = 0;
  std::vector<std::unique_ptr<Block>> spare_blocks_;
  std::vector<Compressor> spare_compressors_;
  size_t taken_compressors_ = 0;
  SegmentFile file_;        // belongs to whoever has set file_busy_
  bool file_busy_ = false;  // someone works on file_
  bool file_finished_ = false;
  bool stopping_ = false;  // the thread is to end
  uint64_t written_sequence_;
  uint64_t synced_sequence_;
  Status error_;
  const Status out_of_memory_;       // made beforehand: it takes memory
  std::atomic<bool> failed_{false};  // error_ is set: read without mutex_
  bool thread_wanted_ = false;
  std::thread thread_;  // started under mutex_ with the first full block
};

}  // namespace flint::changelog
