#include "changelog/writer.h"

#include <utility>

namespace flint::changelog {
namespace {

constexpr size_t kBatchBytesMin = 1u << 10;
constexpr size_t kBatchBytesMax = 64u << 20;
constexpr size_t kWrittenByMax = 16;
constexpr uint64_t kSequenceMax = uint64_t{1} << 62;

Status CheckOptions(const WriterOptions& options) {
  FLINT_RETURN_IF_ERROR(Compressor::CheckLevel(options.level));
  if (options.batch_bytes < kBatchBytesMin || options.batch_bytes > kBatchBytesMax) {
    return Status::Invalid("batch_bytes is " + std::to_string(options.batch_bytes) +
                           ": choose between 1024 and 67108864");
  }
  if (options.first_sequence == 0 || options.first_sequence > kSequenceMax) {
    return Status::Invalid("first_sequence must be from 1 to 2^62");
  }
  if (options.queue_blocks == 0) return Status::Invalid("queue_blocks must be at least 1");
  if (options.written_by.size() > kWrittenByMax) {
    return Status::Invalid("written_by has more than 16 bytes: " + options.written_by);
  }
  return Status();
}

Status CheckRecord(Operation operation, size_t key_size, size_t value_size) {
  if (key_size + value_size > kRecordBytesMax) {
    return Status::Invalid("a record of " + std::to_string(key_size + value_size) +
                           " bytes can't be logged: key and value may have 134217728 together");
  }
  if (static_cast<uint8_t>(operation) >= kOperations) {
    return Status::Invalid("no such operation: " +
                           std::to_string(static_cast<unsigned>(operation)));
  }
  if (!HasValue(operation) && value_size > 0) return Status::Invalid("a delete has no value");
  return Status();
}

Status CheckNoNulls(const ColumnView& column, const char* name) {
  if (!column.MayHaveNulls()) return Status();
  for (int64_t i = 0; i < column.size(); ++i) {
    if (!column.IsNull(i)) continue;
    return Status::Invalid(std::string(name) + " holds a null in row " + std::to_string(i));
  }
  return Status();
}

Status CheckColumn(const ColumnView& column, const char* name, int64_t size, bool right_type,
                   const char* wanted) {
  if (!right_type) {
    return Status::Invalid(std::string(name) + " has type " + column.type().ToString() + ", not " +
                           wanted);
  }
  if (column.size() != size) {
    return Status::Invalid("there are " + std::to_string(size) + " keys, but " + name + " has " +
                           std::to_string(column.size()) + " rows");
  }
  return CheckNoNulls(column, name);
}

Status CheckMany(const Writer::Many& many) {
  const ColumnView& keys = *many.keys;
  if (HasValue(many.operation) != (many.values != nullptr)) {
    return Status::Invalid("values must be given, but for a delete, which has none");
  }
  FLINT_RETURN_IF_ERROR(
      CheckColumn(keys, "keys", keys.size(), keys.type().IsBytes(), "binary or string"));
  if (many.values != nullptr) {
    FLINT_RETURN_IF_ERROR(CheckColumn(*many.values, "values", keys.size(),
                                      many.values->type().IsBytes(), "binary or string"));
  }
  if (many.groups != nullptr) {
    FLINT_RETURN_IF_ERROR(CheckColumn(*many.groups, "groups", keys.size(),
                                      many.groups->type().id == TypeId::kUInt16, "uint16"));
  }
  for (int64_t i = 0; i < keys.size(); ++i) {
    size_t value_size = many.values != nullptr ? many.values->Bytes(i).size() : 0;
    FLINT_RETURN_IF_ERROR(CheckRecord(many.operation, keys.Bytes(i).size(), value_size));
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::Create(const std::string& path, WriterOptions options) {
  FLINT_RETURN_IF_ERROR(CheckOptions(options).WithContext("changelog " + path));
  FLINT_ASSIGN_OR_RETURN(SegmentFile file, CreateFile(path, options, options.first_sequence,
                                                      options.version, options.parent));
  return std::unique_ptr<Writer>(new Writer(std::move(file), std::move(options)));
}

Result<SegmentFile> Writer::CreateFile(const std::string& path, const WriterOptions& options,
                                       uint64_t first_sequence, const VersionId& version,
                                       const VersionId& parent) {
  FileHeader header;
  header.version = version;
  header.parent = parent;
  header.written_by = options.written_by;
  header.first_sequence = first_sequence;
  return SegmentFile::Create(path, header, options.level);
}

Writer::Writer(SegmentFile file, WriterOptions options)
    : options_(std::move(options)),
      open_(std::make_unique<BlockBuilder>()),
      path_(file.path()),
      last_sequence_(options_.first_sequence - 1),
      file_(std::move(file)),
      written_sequence_(last_sequence_),
      synced_sequence_(last_sequence_) {}

Writer::~Writer() { StopThread(); }

// --- Appending ---------------------------------------------------------------------------------

Status Writer::AddRecord(Operation operation, uint16_t group, uint32_t table, std::string_view key,
                         std::string_view value) {
  open_->Add(operation, group, table, key, value);
  ++last_sequence_;
  bool full = open_->raw_size() >= options_.batch_bytes || open_->count() == kBlockRecordsMax;
  return full ? SealFullBlock() : Status();
}

Result<uint64_t> Writer::Append(const Record& record) {
  std::lock_guard lock(append_mutex_);
  if (failed() || closed_) [[unlikely]] {
    return CheckUsable();
  }
  FLINT_RETURN_IF_ERROR(CheckRecord(record.operation, record.key.size(), record.value.size()));
  FLINT_RETURN_IF_ERROR(
      AddRecord(record.operation, record.group, record.table, record.key, record.value));
  return last_sequence_;
}

Result<uint64_t> Writer::AppendMany(const Many& many) {
  FLINT_RETURN_IF_ERROR(CheckMany(many));
  std::lock_guard lock(append_mutex_);
  FLINT_RETURN_IF_ERROR(CheckUsable());
  const uint16_t* groups = many.groups != nullptr ? many.groups->Values<uint16_t>() : nullptr;
  for (int64_t i = 0; i < many.keys->size(); ++i) {
    std::string_view value = many.values != nullptr ? many.values->Bytes(i) : std::string_view();
    uint16_t group = groups != nullptr ? groups[i] : many.group;
    FLINT_RETURN_IF_ERROR(AddRecord(many.operation, group, many.table, many.keys->Bytes(i), value));
  }
  return last_sequence_;
}

uint64_t Writer::last_sequence() const {
  std::lock_guard lock(append_mutex_);
  return last_sequence_;
}

std::string Writer::path() const {
  std::lock_guard lock(append_mutex_);
  return path_;
}

// The answer to a call that comes too late, with append_mutex_ held.
Status Writer::CheckUsable() const {
  if (closed_) return Status::Closed("changelog " + path_ + ": the writer is closed");
  if (!failed()) return Status();
  std::lock_guard lock(mutex_);
  return error_;
}

// --- From the open block to the file -----------------------------------------------------------

// The queue takes the open block whatever its length: who wants a bound waits before.
void Writer::SealOpenBlock() {
  if (open_->count() == 0) return;
  queue_.push_back({std::move(open_), last_sequence_});
  if (spare_.empty()) {
    open_ = std::make_unique<BlockBuilder>();
  } else {
    open_ = std::move(spare_.back());
    spare_.pop_back();
  }
}

Status Writer::SealFullBlock() {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.size() < options_.queue_blocks || failed(); });
  if (failed()) return error_;
  SealOpenBlock();
  if (!thread_.joinable()) thread_ = std::thread([this] { WorkInBackground(); });
  changed_.notify_all();
  return Status();
}

void Writer::WriteFront(Lock& lock) {
  Sealed front = std::move(queue_.front());
  queue_.pop_front();
  busy_ = true;
  lock.unlock();
  Status status = file_.AddBlock(front.block.get());
  if (status.ok()) status = file_.Flush();
  front.block->Clear();
  lock.lock();
  busy_ = false;
  spare_.push_back(std::move(front.block));
  if (status.ok()) {
    written_sequence_ = front.sequence;
  } else {
    Fail(status);
  }
  changed_.notify_all();
}

void Writer::Fail(const Status& status) {
  if (failed()) return;
  error_ = status;
  queue_.clear();
  failed_.store(true, std::memory_order_release);
}

void Writer::WorkInBackground() {
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || (!busy_ && !queue_.empty()); });
    if (stopping_) return;
    WriteFront(lock);
  }
}

void Writer::StopThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

// Whoever waits for a block writes it, unless someone else is at it: a small tail costs no switch
// to the background thread.
Status Writer::DrainUpTo(Lock& lock, uint64_t sequence) {
  while (!failed() && written_sequence_ < sequence) {
    if (busy_) {
      changed_.wait(lock);
    } else {
      WriteFront(lock);
    }
  }
  return error_;
}

Status Writer::SyncUpTo(Lock& lock, uint64_t sequence) {
  FLINT_RETURN_IF_ERROR(DrainUpTo(lock, sequence));
  changed_.wait(lock, [&] { return !busy_ || failed(); });
  if (failed() || synced_sequence_ >= sequence) return error_;
  if (finished_) return Status::Closed("sync: the changelog writer was closed meanwhile");
  uint64_t covered = written_sequence_;
  busy_ = true;
  lock.unlock();
  Status status = file_.Sync();
  lock.lock();
  busy_ = false;
  if (status.ok()) {
    synced_sequence_ = covered;
  } else {
    Fail(status);
  }
  changed_.notify_all();
  return error_;
}

Result<uint64_t> Writer::Sync() {
  Lock append_lock(append_mutex_);
  FLINT_RETURN_IF_ERROR(CheckUsable());
  uint64_t sequence = last_sequence_;
  Lock lock(mutex_);
  SealOpenBlock();
  append_lock.unlock();
  FLINT_RETURN_IF_ERROR(SyncUpTo(lock, sequence));
  return sequence;
}

// --- The end of a segment ------------------------------------------------------------------------

Result<Segment> Writer::FinishFile(Lock& lock, Durability durability) {
  changed_.wait(lock, [&] { return !busy_; });
  FLINT_RETURN_IF_ERROR(error_);
  busy_ = true;
  lock.unlock();
  Result<Segment> segment = file_.Finish(durability);
  lock.lock();
  busy_ = false;
  if (!segment.ok()) {
    Fail(segment.status());
  } else if (durability == Durability::kMachine) {
    synced_sequence_ = written_sequence_;
  }
  finished_ = true;
  changed_.notify_all();
  return segment;
}

Result<Segment> Writer::Roll(const std::string& path, const VersionId& version,
                             const VersionId& parent) {
  Lock append_lock(append_mutex_);
  FLINT_RETURN_IF_ERROR(CheckUsable());
  Lock lock(mutex_);
  SealOpenBlock();
  FLINT_RETURN_IF_ERROR(DrainUpTo(lock, last_sequence_));
  FLINT_ASSIGN_OR_RETURN(SegmentFile next,
                         CreateFile(path, options_, last_sequence_ + 1, version, parent));
  FLINT_ASSIGN_OR_RETURN(Segment segment, FinishFile(lock, Durability::kMachine));
  file_ = std::move(next);
  finished_ = false;
  path_ = path;
  return segment;
}

Result<Segment> Writer::Close(Durability durability) {
  Lock append_lock(append_mutex_);
  if (closed_) return CheckUsable();
  closed_ = true;
  Result<Segment> segment = Status::Internal("not finished");
  {
    Lock lock(mutex_);
    SealOpenBlock();
    Status drained = DrainUpTo(lock, last_sequence_);
    segment = drained.ok() ? FinishFile(lock, durability) : Result<Segment>(drained);
  }
  StopThread();
  return segment;
}

}  // namespace flint::changelog
