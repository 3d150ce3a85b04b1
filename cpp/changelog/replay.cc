#include "changelog/replay.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace flint::changelog {
namespace {

constexpr size_t kBatchesAhead = 2;

bool IsBarrier(const Record& record) {
  return record.operation == Operation::kDeleteRange || record.operation == Operation::kMetadata;
}

bool Before(const Record& a, const Record& b) {
  if (a.table != b.table) return a.table < b.table;
  if (int order = a.key.compare(b.key); order != 0) return order < 0;
  return a.sequence < b.sequence;
}

// Sorts what lies between barriers. What is in order already, as a backend's commits are, costs one
// look.
void SortBetweenBarriers(std::vector<Record>* records) {
  auto begin = records->begin();
  while (begin != records->end()) {
    auto end = std::find_if(begin, records->end(), IsBarrier);
    if (!std::is_sorted(begin, end, Before)) std::sort(begin, end, Before);
    begin = end == records->end() ? end : end + 1;
  }
}

// A batch with the block that its records point into.
struct Loaded {
  RecordBlock block;
  SortedBatch batch;
};

// False at the end.
Result<bool> Load(Reader* reader, Loaded* loaded) {
  FLINT_ASSIGN_OR_RETURN(bool more, reader->Next(&loaded->block));
  if (!more) return false;
  const RecordBlock& block = loaded->block;
  std::vector<Record>& records = loaded->batch.records;
  records.clear();
  records.reserve(block.rows());
  block.ForEach([&](const Record& record) { records.push_back(record); });
  loaded->batch.last_sequence = block.last_sequence();
  SortBetweenBarriers(&records);
  return true;
}

// Loads in a thread of its own, a few batches ahead.
class Prefetcher {
 public:
  explicit Prefetcher(Reader* reader) : reader_(reader) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {
      // The system has no thread to give: each is loaded when it is taken.
    }
  }

  ~Prefetcher() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  // False at the end.
  Result<bool> Take(Loaded* loaded) {
    if (!thread_.joinable()) return Load(reader_, loaded);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || done_; });
    if (ready_.empty()) return error_.ok() ? Result<bool>(false) : Result<bool>(error_);
    std::swap(*loaded, ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return true;
  }

 private:
  // Nothing is thrown out of a thread.
  void Run() {
    try {
      LoadAll();
    } catch (const std::bad_alloc&) {
      std::lock_guard lock(mutex_);
      error_ = out_of_memory_;
      done_ = true;
      changed_.notify_all();
    }
  }

  void LoadAll() {
    while (true) {
      Loaded loaded;
      Result<bool> more = Load(reader_, &loaded);
      std::unique_lock lock(mutex_);
      error_ = more.status();
      done_ = !more.ok() || !*more;
      if (!done_) ready_.push_back(std::move(loaded));
      changed_.notify_all();
      changed_.wait(lock, [&] { return ready_.size() < kBatchesAhead || stopping_; });
      if (done_ || stopping_) return;
    }
  }

  Reader* const reader_;
  const Status out_of_memory_ = Status::IO("out of memory");  // made beforehand: it takes memory
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Loaded> ready_;
  Status error_;
  bool done_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace

Status Replay(Reader* reader, ReplaySink* sink) {
  Loaded loaded;
  FLINT_ASSIGN_OR_RETURN(bool more, Load(reader, &loaded));
  if (!more) return Status();
  if (reader->AtEnd()) return sink->Apply(loaded.batch);
  Prefetcher prefetcher(reader);
  while (more) {
    FLINT_RETURN_IF_ERROR(sink->Apply(loaded.batch));
    FLINT_ASSIGN_OR_RETURN(more, prefetcher.Take(&loaded));
  }
  return Status();
}

}  // namespace flint::changelog
