#include "changelog/writer.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace flint::changelog {
namespace {

constexpr size_t kBatchBytesMin = 1u << 10;
constexpr size_t kBatchBytesMax = 64u << 20;
constexpr size_t kWrittenByMax = 16;

Status CheckOptions(const WriterOptions& options) {
  FLINT_RETURN_IF_ERROR(Compressor::CheckLevel(options.level));
  if (options.batch_bytes < kBatchBytesMin || options.batch_bytes > kBatchBytesMax) {
    return Status::Invalid("batch_bytes is " + std::to_string(options.batch_bytes) +
                           ": choose between 1024 and 67108864");
  }
  if (options.first_sequence == 0 || options.first_sequence > kFirstSequenceMax) {
    return Status::Invalid("first_sequence must be from 1 to 2^62");
  }
  if (options.written_by.size() > kWrittenByMax) {
    return Status::Invalid("written_by has more than 16 bytes: " + options.written_by);
  }
  return Status();
}

size_t QueueBlocks(const WriterOptions& options) {
  return std::clamp<size_t>(options.queue_bytes / options.batch_bytes, 2,
                            Pipeline::kQueueBlocksMax);
}

Status TooLarge(size_t size) {
  return Status::Invalid("a record of " + std::to_string(size) +
                         " bytes can't be logged: key and value may have 134217728 together");
}

Status NoSuchOperation(Operation operation) {
  return Status::Invalid("no such operation: " + std::to_string(static_cast<unsigned>(operation)));
}

inline Status CheckRecord(Operation operation, size_t key_size, size_t value_size) {
  if (key_size + value_size > kRecordBytesMax) [[unlikely]]
    return TooLarge(key_size + value_size);
  if (static_cast<uint8_t>(operation) >= kOperations) [[unlikely]]
    return NoSuchOperation(operation);
  if (!HasValue(operation) && value_size > 0) [[unlikely]]
    return Status::Invalid("a delete has no value");
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

// Whether all rows are within the limits of a record.
Status CheckSizes(const Writer::Many& many) {
  constexpr size_t kRowsAtOnce = 1024;
  size_t key_sizes[kRowsAtOnce], value_sizes[kRowsAtOnce];
  BytesColumn keys(many.keys), values(many.values);
  for (int64_t from = 0; from < many.keys->size(); from += kRowsAtOnce) {
    size_t count = std::min(kRowsAtOnce, static_cast<size_t>(many.keys->size() - from));
    keys.Sizes(from, count, key_sizes);
    values.Sizes(from, count, value_sizes);
    for (size_t i = 0; i < count; ++i) {
      FLINT_RETURN_IF_ERROR(CheckRecord(many.operation, key_sizes[i], value_sizes[i]));
    }
  }
  return Status();
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
  return CheckSizes(many);
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
  return SegmentFile::Create(path, header);
}

Writer::Writer(SegmentFile file, WriterOptions options)
    : options_(std::move(options)),
      path_(file.path()),
      last_sequence_(options_.first_sequence - 1),
      pipeline_(std::make_unique<Pipeline>(std::move(file), options_.level, QueueBlocks(options_),
                                           last_sequence_)) {
  open_ = pipeline_->NewBlock();
}

Writer::~Writer() {
  // A forked child has no such thread, and its locks may be held for ever.
  if (Forked()) static_cast<void>(pipeline_.release());
}

// --- Appending ---------------------------------------------------------------------------------

Result<uint64_t> Writer::Append(const Record& record) {
  if (Forked()) [[unlikely]]
    return CheckUsable();
  std::lock_guard lock(append_mutex_);
  return AddRecord(record);
}

std::optional<Result<uint64_t>> Writer::AppendAtOnce(const Record& record) {
  if (Forked()) [[unlikely]]
    return CheckUsable();
  std::unique_lock lock(append_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  constexpr size_t kMostBesides = 64;  // lengths and a run
  const BlockBuilder& block = open_->builder;
  size_t size = block.raw_size() + record.key.size() + record.value.size() + kMostBesides;
  bool fills = size >= options_.batch_bytes || block.count() + 1 == kBlockRecordsMax;
  if (fills) return std::nullopt;
  return AddRecord(record);
}

inline Result<uint64_t> Writer::AddRecord(const Record& record) {
  if (closed_ || pipeline_->failed()) [[unlikely]]
    return CheckUsable();
  FLINT_RETURN_IF_ERROR(CheckRecord(record.operation, record.key.size(), record.value.size()));
  try {
    open_->builder.Add(record.operation, record.group, record.table, record.key, record.value);
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
  ++last_sequence_;
  if (IsFull()) [[unlikely]]
    FLINT_RETURN_IF_ERROR(PushOpenBlock());
  return last_sequence_;
}

Result<uint64_t> Writer::AppendMany(const Many& many) {
  FLINT_RETURN_IF_ERROR(CheckMany(many));
  std::unique_lock lock = Lock();
  FLINT_RETURN_IF_ERROR(CheckUsable());
  FLINT_RETURN_IF_ERROR(AddRows(many));
  return last_sequence_;
}

Status Writer::AddRows(const Many& many) {
  const uint16_t* groups = many.groups != nullptr ? many.groups->Values<uint16_t>() : nullptr;
  RecordColumns rows{
      many.operation,          many.table, many.group, groups, BytesColumn(many.keys),
      BytesColumn(many.values)};
  for (int64_t i = 0; i < many.keys->size();) {
    size_t left = static_cast<size_t>(many.keys->size() - i);
    size_t added;
    try {
      added = open_->builder.AddRows(rows, i, left, options_.batch_bytes);
    } catch (const std::bad_alloc&) {
      return OutOfMemory();
    }
    last_sequence_ += added;
    i += static_cast<int64_t>(added);
    if (IsFull()) FLINT_RETURN_IF_ERROR(PushOpenBlock());
  }
  return Status();
}

uint64_t Writer::last_sequence() const {
  std::unique_lock lock = Lock();
  return last_sequence_;
}

std::string Writer::path() const {
  std::unique_lock lock = Lock();
  return path_;
}

// --- From the open block on ----------------------------------------------------------------------

std::unique_lock<BriefLock> Writer::Lock() const {
  return Forked() ? std::unique_lock<BriefLock>() : std::unique_lock(append_mutex_);
}

Status Writer::CheckUsable() const {
  if (Forked()) [[unlikely]] {
    return Status::Closed("changelog " + path_ +
                          " was opened before this process was forked: its parent writes it");
  }
  if (closed_) [[unlikely]] {
    return Status::Closed("changelog " + path_ + ": the writer is closed");
  }
  return pipeline_->failed() ? pipeline_->error() : Status();
}

// What was being added to the open block is there in part only: nothing may be written any more.
Status Writer::OutOfMemory() {
  pipeline_->FailForMemory();
  return pipeline_->error();
}

Status Writer::PushOpenBlock() {
  try {
    return pipeline_->Push(ReplaceOpenBlock(), last_sequence_);
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

Status Writer::PushRest() {
  try {
    if (open_->builder.count() > 0) pipeline_->PushLast(ReplaceOpenBlock(), last_sequence_);
    return {};
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

std::unique_ptr<Block> Writer::ReplaceOpenBlock() {
  std::unique_ptr<Block> next = pipeline_->NewBlock();
  try {
    next->builder.ReserveLike(open_->builder);
  } catch (const std::bad_alloc&) {
    // It is asked for again when there is something to put there.
  }
  std::swap(open_, next);
  return next;
}

Result<uint64_t> Writer::Sync() {
  std::unique_lock lock = Lock();
  FLINT_RETURN_IF_ERROR(CheckUsable());
  uint64_t sequence = last_sequence_;
  FLINT_RETURN_IF_ERROR(PushRest());
  lock.unlock();
  FLINT_RETURN_IF_ERROR(pipeline_->Sync(sequence));
  return sequence;
}

Result<Segment> Writer::Roll(const std::string& path, const VersionId& version,
                             const VersionId& parent) {
  if (!Forked()) append_mutex_.LetOthersGoFirst();  // it is held until the device has all
  std::unique_lock lock = Lock();
  FLINT_RETURN_IF_ERROR(CheckUsable());
  FLINT_RETURN_IF_ERROR(PushRest());
  FLINT_RETURN_IF_ERROR(pipeline_->Flush(last_sequence_));
  FLINT_ASSIGN_OR_RETURN(SegmentFile next,
                         CreateFile(path, options_, last_sequence_ + 1, version, parent));
  Result<Segment> segment = pipeline_->Finish(Durability::kMachine);
  if (!segment.ok()) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // nothing is in it: whoever tries again needs the name
    return segment;
  }
  pipeline_->GoOn(std::move(next));
  path_ = path;
  return segment;
}

Result<Segment> Writer::Close(Durability durability) {
  std::unique_lock lock = Lock();
  if (closed_ || Forked()) return CheckUsable();
  closed_ = true;
  if (pipeline_->failed()) return pipeline_->error();
  FLINT_RETURN_IF_ERROR(PushRest());
  FLINT_RETURN_IF_ERROR(pipeline_->Flush(last_sequence_));
  return pipeline_->Finish(durability);
}

}  // namespace flint::changelog
