#include "changelog/pipeline.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

namespace flint::changelog {
namespace {

constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
constexpr std::chrono::milliseconds kGatherTime{1};  // for small blocks to become worth a write
constexpr size_t kUnshrunkBeforeSamples = 2;
constexpr size_t kSamplesBeforeWhole = 16;

}  // namespace

Pipeline::Pipeline(SegmentFile file, int level, size_t queue_blocks, uint64_t last_sequence)
    : level_(level),
      queue_blocks_(queue_blocks),
      worth_writing_(std::max<size_t>(queue_blocks / 4, 1)),
      file_(std::move(file)),
      written_sequence_(last_sequence),
      synced_sequence_(last_sequence),
      out_of_memory_(Status::IO("changelog " + file_.path() + ": out of memory")) {
  writing_.reserve(queue_blocks);
}

Pipeline::~Pipeline() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    work_.notify_one();
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

void Pipeline::BeginThread() {
  thread_wanted_ = true;
  try {
    thread_ = std::thread([this] { WorkInBackground(); });
  } catch (const std::system_error&) {
    // The system has no thread to give: it goes without.
  }
}

Status Pipeline::Push(std::unique_ptr<Block> block, uint64_t last_sequence) {
  Lock lock(mutex_);
  if (!thread_wanted_) BeginThread();
  bool was_full = queue_.size() >= queue_blocks_;
  while (!failed() && queue_.size() >= queue_blocks_) {
    if (WorkOnce(lock, kAny) == Did::kNothing) changed_.wait(lock);
  }
  if (failed()) return error_;
  queue_.push_back({std::move(block), last_sequence});
  // What was encoded here is left to the thread, which may have found nothing to do meanwhile.
  if (was_full || queue_.size() == 1 || queue_.size() >= worth_writing_) work_.notify_one();
  return Status();
}

void Pipeline::PushLast(std::unique_ptr<Block> block, uint64_t last_sequence) {
  std::lock_guard lock(mutex_);
  queue_.push_back({std::move(block), last_sequence});
}

// --- Blocks are worked on --------------------------------------------------------------------

// Writes the first blocks, where they are encoded and worth it or nothing else is left to do, else
// encodes one that waits. Nothing where all blocks up to `up_to` are in other hands.
Pipeline::Did Pipeline::WorkOnce(Lock& lock, uint64_t up_to) {
  auto unfinished = std::find_if(queue_.begin(), queue_.end(),
                                 [](const Queued& q) { return q.stage != Stage::kEncoded; });
  auto waiting = std::find_if(unfinished, queue_.end(),
                              [](const Queued& q) { return q.stage == Stage::kWaiting; });
  size_t encoded = static_cast<size_t>(unfinished - queue_.begin());
  bool may_encode = waiting != queue_.end() && waiting->last_sequence <= up_to;
  if (!file_busy_ && encoded > 0 && (encoded >= worth_writing_ || !may_encode)) {
    WriteFront(lock, std::min(encoded, queue_blocks_));
    return Did::kWrite;
  }
  if (!may_encode) return Did::kNothing;
  Encode(lock, &*waiting);  // a deque's elements stay where they are
  return Did::kEncode;
}

Effort Pipeline::NextEffort() {
  if (unshrunk_ < kUnshrunkBeforeSamples) return Effort::kWhole;
  return ++samples_ % kSamplesBeforeWhole == 0 ? Effort::kWhole : Effort::kSample;
}

template <class Work>
Status Pipeline::WithinMemory(Work work) const {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory_;
  }
}

void Pipeline::Encode(Lock& lock, Queued* queued) {
  Compressor compressor = TakeCompressor();  // may throw: the block still waits then
  queued->stage = Stage::kEncoding;
  Effort effort = NextEffort();
  Block* block = queued->block.get();
  lock.unlock();
  Status status = WithinMemory([&] {
    ArrowBuffer* raw = block->builder.Seal();
    return block->encoded.Encode(block->builder.header(), raw, &compressor, effort)
        .WithContext("changelog " + file_.path());
  });
  lock.lock();
  GiveBack(std::move(compressor));
  if (!status.ok()) return SetError(status);
  unshrunk_ = block->encoded.compressed() ? 0 : unshrunk_ + 1;
  queued->stage = Stage::kEncoded;
  changed_.notify_all();
}

void Pipeline::WriteFront(Lock& lock, size_t count) {
  writing_.clear();
  for (size_t i = 0; i < count; ++i) {
    writing_.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  WorkOnFile(lock, [&] {
    EncodedBlock* blocks[kQueueBlocksMax];
    for (size_t i = 0; i < count; ++i) blocks[i] = &writing_[i].block->encoded;
    return file_.AddBlocks({blocks, count});
  });
  if (failed()) return;
  written_sequence_ = writing_.back().last_sequence;
  for (Queued& written : writing_) {
    written.block->builder.Clear();
    spare_blocks_.push_back(std::move(written.block));
  }
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
  if (!queue_.empty()) work_.notify_one();
}

Compressor Pipeline::TakeCompressor() {
  spare_compressors_.reserve(spare_compressors_.size() + taken_compressors_ + 1);
  if (spare_compressors_.empty()) {
    Compressor made(level_);
    ++taken_compressors_;
    return made;
  }
  Compressor compressor = std::move(spare_compressors_.back());
  spare_compressors_.pop_back();
  ++taken_compressors_;
  return compressor;
}

void Pipeline::GiveBack(Compressor compressor) {
  --taken_compressors_;
  spare_compressors_.push_back(std::move(compressor));
}

// Nothing is thrown out of a thread.
void Pipeline::WorkInBackground() {
  try {
    WorkUntilStopped();
  } catch (const std::bad_alloc&) {
    FailForMemory();
  }
}

void Pipeline::WorkUntilStopped() {
  Lock lock(mutex_);
  bool gathered = false;  // what is there has waited for more
  while (!stopping_) {
    if (failed() || queue_.empty()) {
      gathered = false;
      work_.wait(lock);
    } else if (!gathered && queue_.size() < worth_writing_) {
      gathered = true;
      work_.wait_for(lock, kGatherTime,
                     [&] { return stopping_ || failed() || queue_.size() >= worth_writing_; });
    } else {
      Did did = WorkOnce(lock, kAny);
      if (did == Did::kNothing) work_.wait(lock);
      if (did == Did::kWrite) gathered = false;
    }
  }
}

// --- Waiting for them ------------------------------------------------------------------------

Status Pipeline::FlushUpTo(Lock& lock, uint64_t sequence) {
  while (!failed() && written_sequence_ < sequence) {
    if (WorkOnce(lock, sequence) == Did::kNothing) changed_.wait(lock);
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
  GiveBack(std::move(compressor));
  file_finished_ = true;
  if (!failed() && durability == Durability::kMachine) synced_sequence_ = written_sequence_;
  return segment;
}

void Pipeline::GoOn(SegmentFile next) {
  std::lock_guard lock(mutex_);
  file_ = std::move(next);
  file_finished_ = false;
}

void Pipeline::FailForMemory() {
  std::lock_guard lock(mutex_);
  SetError(out_of_memory_);
}

void Pipeline::SetError(const Status& status) {
  if (failed()) return;
  error_ = status;
  failed_.store(true, std::memory_order_release);
  changed_.notify_all();
  work_.notify_one();
}

Status Pipeline::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace flint::changelog
