#include "changelog/pipeline.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace flint::changelog {
namespace {

constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();

template <class Work>
Status WithinMemory(Work work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::IO("out of memory");
  }
}

}  // namespace

Pipeline::Pipeline(SegmentFile file, int level, size_t queue_blocks, uint64_t last_sequence)
    : level_(level),
      queue_blocks_(queue_blocks),
      file_(std::move(file)),
      written_sequence_(last_sequence),
      synced_sequence_(last_sequence) {}

Pipeline::~Pipeline() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

// --- Blocks come in --------------------------------------------------------------------------

std::unique_ptr<Block> Pipeline::NewBlock() {
  std::lock_guard lock(mutex_);
  if (spare_blocks_.empty()) return std::make_unique<Block>();
  std::unique_ptr<Block> block = std::move(spare_blocks_.back());
  spare_blocks_.pop_back();
  return block;
}

Status Pipeline::Push(std::unique_ptr<Block> block, uint64_t last_sequence) {
  Lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { WorkInBackground(); });
  while (!failed() && queue_.size() >= queue_blocks_) {
    if (!WorkOnce(lock, kAny)) changed_.wait(lock);
  }
  if (failed()) return error_;
  queue_.push_back({std::move(block), last_sequence});
  changed_.notify_all();
  return Status();
}

void Pipeline::PushLast(std::unique_ptr<Block> block, uint64_t last_sequence) {
  std::lock_guard lock(mutex_);
  queue_.push_back({std::move(block), last_sequence});
}

// --- Blocks are worked on --------------------------------------------------------------------

// Writes the first block, where that can be done, else encodes one that waits. False where all
// blocks up to `up_to` are in other hands.
bool Pipeline::WorkOnce(Lock& lock, uint64_t up_to) {
  if (queue_.empty()) return false;
  if (!file_busy_ && queue_.front().stage == Stage::kEncoded) {
    WriteFront(lock);
    return true;
  }
  auto waiting = std::find_if(queue_.begin(), queue_.end(),
                              [](const Queued& q) { return q.stage == Stage::kWaiting; });
  if (waiting == queue_.end() || waiting->last_sequence > up_to) return false;
  Encode(lock, &*waiting);  // a deque's elements stay where they are
  return true;
}

void Pipeline::Encode(Lock& lock, Queued* queued) {
  queued->stage = Stage::kEncoding;
  Compressor compressor = TakeCompressor();
  Block* block = queued->block.get();
  lock.unlock();
  Status status = WithinMemory([&] {
    ArrowBuffer* raw = block->builder.Seal();
    return block->encoded.Encode(block->builder.header(), raw, &compressor);
  });
  lock.lock();
  spare_compressors_.push_back(std::move(compressor));
  if (!status.ok()) return SetError(status.WithContext("changelog " + file_.path()));
  queued->stage = Stage::kEncoded;
  changed_.notify_all();
}

void Pipeline::WriteFront(Lock& lock) {
  Queued front = std::move(queue_.front());
  queue_.pop_front();
  WorkOnFile(lock, [&] { return file_.AddBlock(&front.block->encoded); });
  if (failed()) return;
  written_sequence_ = front.last_sequence;
  front.block->builder.Clear();
  spare_blocks_.push_back(std::move(front.block));
}

// Does `work` on the file, without the lock, while nobody else is at it.
template <class Work>
void Pipeline::WorkOnFile(Lock& lock, Work work) {
  file_busy_ = true;
  lock.unlock();
  Status status = WithinMemory(work);
  lock.lock();
  file_busy_ = false;
  if (!status.ok()) SetError(status);
  changed_.notify_all();
}

Compressor Pipeline::TakeCompressor() {
  if (spare_compressors_.empty()) return Compressor(level_);
  Compressor compressor = std::move(spare_compressors_.back());
  spare_compressors_.pop_back();
  return compressor;
}

void Pipeline::WorkInBackground() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (failed() || !WorkOnce(lock, kAny)) changed_.wait(lock);
  }
}

// --- Waiting for them ------------------------------------------------------------------------

Status Pipeline::FlushUpTo(Lock& lock, uint64_t sequence) {
  while (!failed() && written_sequence_ < sequence) {
    if (!WorkOnce(lock, sequence)) changed_.wait(lock);
  }
  return error_;
}

Status Pipeline::Flush(uint64_t sequence) {
  Lock lock(mutex_);
  return FlushUpTo(lock, sequence);
}

Status Pipeline::Sync(uint64_t sequence) {
  Lock lock(mutex_);
  FLINT_RETURN_IF_ERROR(FlushUpTo(lock, sequence));
  changed_.wait(lock, [&] { return !file_busy_ || failed(); });
  if (failed() || synced_sequence_ >= sequence) return error_;
  if (file_finished_) return Status::Closed("sync: the changelog writer was closed meanwhile");
  uint64_t covered = written_sequence_;
  WorkOnFile(lock, [&] { return file_.Sync(); });
  if (!failed()) synced_sequence_ = covered;
  return error_;
}

// --- The end ---------------------------------------------------------------------------------

Result<Segment> Pipeline::Finish(Durability durability) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return !file_busy_; });
  if (failed()) return error_;
  Compressor compressor = TakeCompressor();
  Result<Segment> segment = Status::Internal("not finished");
  WorkOnFile(lock, [&] {
    segment = file_.Finish(durability, &compressor);
    return segment.status();
  });
  spare_compressors_.push_back(std::move(compressor));
  file_finished_ = true;
  if (!failed() && durability == Durability::kMachine) synced_sequence_ = written_sequence_;
  return segment;
}

void Pipeline::GoOn(SegmentFile next) {
  std::lock_guard lock(mutex_);
  file_ = std::move(next);
  file_finished_ = false;
}

void Pipeline::Fail(const Status& status) {
  std::lock_guard lock(mutex_);
  SetError(status);
}

void Pipeline::SetError(const Status& status) {
  if (failed()) return;
  error_ = status;
  failed_.store(true, std::memory_order_release);
  changed_.notify_all();
}

Status Pipeline::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace flint::changelog
