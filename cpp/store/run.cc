#include "store/run.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flint {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kWriteBytes = 256 << 10;
constexpr size_t kHeadBytes = 8;
// What a record costs beside its bytes: its view, its size, and what sorting it takes.
constexpr size_t kRecordCost = 16 + 4 + 4 + 32;

struct RecordHead {
  uint32_t key_size;
  uint32_t row_size;
};
static_assert(sizeof(RecordHead) == kHeadBytes);

uint64_t PrefixOf(std::string_view key) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, key.data(), std::min<size_t>(8, key.size()));
  return __builtin_bswap64(prefix);
}

}  // namespace

char* RunBuffer::Allocate(size_t bytes) {
  while (chunk_ < chunks_.size() && chunk_used_ + bytes > chunks_[chunk_].size) {
    ++chunk_;
    chunk_used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    size_t size = std::max(kChunkBytes, bytes);
    chunks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
  }
  char* at = chunks_[chunk_].bytes.get() + chunk_used_;
  chunk_used_ += bytes;
  return at;
}

void RunBuffer::Add(std::string_view key, std::string_view row) {
  char* at = Allocate(key.size() + row.size());
  if (!key.empty()) std::memcpy(at, key.data(), key.size());
  std::memcpy(at + key.size(), row.data(), row.size());
  keys_.emplace_back(at, key.size());
  row_sizes_.push_back(static_cast<uint32_t>(row.size()));
  bytes_ += key.size() + row.size() + kRecordCost;
}

void RunBuffer::Sort() { sorter_.Sort(keys_, /*all=*/false, &order_); }

void RunBuffer::Clear() {
  keys_.clear();
  row_sizes_.clear();
  order_.clear();
  bytes_ = 0;
  std::erase_if(chunks_, [](const Chunk& chunk) { return chunk.size > kChunkBytes; });
  chunk_ = 0;
  chunk_used_ = 0;
}

class RunBuffer::Reader : public RunReader {
 public:
  explicit Reader(const RunBuffer& buffer) : buffer_(buffer) {}

  Result<bool> Next() override {
    const auto& order = buffer_.order_;
    if (next_ == order.size()) return false;
    constexpr size_t kAhead = 8;  // records lie where they were added: all over memory
    if (next_ + kAhead < order.size()) {
      const char* soon = buffer_.keys_[order[next_ + kAhead]].data();
      __builtin_prefetch(soon);
      __builtin_prefetch(soon + 64);
    }
    uint32_t i = order[next_++];
    key_ = buffer_.keys_[i];
    row_ = {key_.data() + key_.size(), buffer_.row_sizes_[i]};
    return true;
  }

 private:
  const RunBuffer& buffer_;
  size_t next_ = 0;
};

std::unique_ptr<RunReader> RunBuffer::Read() const { return std::make_unique<Reader>(*this); }

Status WriteRun(RunReader* run, const std::string& path) {
  FLINT_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Create(path));
  std::string out;
  while (true) {
    FLINT_ASSIGN_OR_RETURN(bool more, run->Next());
    if (!more || out.size() >= kWriteBytes) {
      FLINT_RETURN_IF_ERROR(file.Append(out));
      out.clear();
    }
    if (!more) return file.Close();
    RecordHead head = {static_cast<uint32_t>(run->key().size()),
                       static_cast<uint32_t>(run->row().size())};
    out.append(reinterpret_cast<const char*>(&head), sizeof head);
    out.append(run->key()).append(run->row());
  }
}

Result<std::unique_ptr<RunFile>> RunFile::Open(const std::string& path) {
  FLINT_ASSIGN_OR_RETURN(ReadFile file, ReadFile::Open(path));
  return std::unique_ptr<RunFile>(new RunFile(std::move(file)));
}

Result<bool> RunFile::Fill(size_t bytes) {
  if (buffer_.size() - at_ >= bytes) return true;
  std::string rest = buffer_.substr(at_);
  FLINT_RETURN_IF_ERROR(file_.Read(next_, std::max(kReadBytes, bytes - rest.size()), &buffer_));
  next_ += buffer_.size();
  buffer_.insert(0, rest);
  at_ = 0;
  return buffer_.size() >= bytes;
}

Result<bool> RunFile::Next() {
  FLINT_ASSIGN_OR_RETURN(bool more, Fill(kHeadBytes));
  if (!more && buffer_.size() == at_) return false;
  RecordHead head = {0, 0};
  if (more) std::memcpy(&head, buffer_.data() + at_, sizeof head);
  if (more) {
    FLINT_ASSIGN_OR_RETURN(more, Fill(kHeadBytes + size_t{head.key_size} + head.row_size));
  }
  if (!more) return Status::Corruption(file_.path() + " is shorter than it was written");
  key_ = {buffer_.data() + at_ + kHeadBytes, head.key_size};
  row_ = {key_.data() + key_.size(), head.row_size};
  at_ += kHeadBytes + key_.size() + row_.size();
  return true;
}

Result<std::unique_ptr<RunMerger>> RunMerger::Make(std::vector<std::unique_ptr<RunReader>> runs) {
  auto merger = std::make_unique<RunMerger>();
  merger->runs_ = std::move(runs);
  for (uint32_t run = 0; run < merger->runs_.size(); ++run) {
    FLINT_RETURN_IF_ERROR(merger->Push(run));
  }
  return merger;
}

// Of equal keys the last run's is before the others'.
bool RunMerger::Before(const Head& a, const Head& b) const {
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  int compared = runs_[a.run]->key().compare(runs_[b.run]->key());
  return compared != 0 ? compared < 0 : a.run > b.run;
}

Status RunMerger::Push(uint32_t run) {
  FLINT_ASSIGN_OR_RETURN(bool more, runs_[run]->Next());
  if (!more) return {};
  heads_.push_back({PrefixOf(runs_[run]->key()), run});
  std::push_heap(heads_.begin(), heads_.end(),
                 [this](const Head& a, const Head& b) { return Before(b, a); });
  return {};
}

void RunMerger::SinkFirst() {
  size_t at = 0;
  const Head sinking = heads_[0];
  for (size_t child = 1; child < heads_.size(); child = 2 * at + 1) {
    if (child + 1 < heads_.size() && Before(heads_[child + 1], heads_[child])) ++child;
    if (!Before(heads_[child], sinking)) break;
    heads_[at] = heads_[child];
    at = child;
  }
  heads_[at] = sinking;
}

Status RunMerger::Step() {
  const uint32_t run = heads_[0].run;
  FLINT_ASSIGN_OR_RETURN(bool more, runs_[run]->Next());
  if (more) {
    heads_[0].prefix = PrefixOf(runs_[run]->key());
  } else {
    heads_[0] = heads_.back();
    heads_.pop_back();
  }
  if (!heads_.empty()) SinkFirst();
  return {};
}

// The least head's record is handed out where it lies; its run steps on with the next call.
Result<bool> RunMerger::Next() {
  while (true) {
    if (started_ && !heads_.empty()) FLINT_RETURN_IF_ERROR(Step());
    if (heads_.empty()) return false;
    key_ = runs_[heads_[0].run]->key();
    if (started_ && key_ == last_key_) continue;  // an earlier run's
    started_ = true;
    last_key_.assign(key_);
    row_ = runs_[heads_[0].run]->row();
    return true;
  }
}

}  // namespace flint
