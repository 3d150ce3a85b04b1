#include "store/run.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/interrupt.h"
namespace flint {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr size_t kReadBytes = 128 << 10;
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

void RunBuffer::Sort() {
  sorter_.Sort(keys_, /*all=*/false, &order_);
  marks_.clear();
  const size_t apart =
      std::max<size_t>(1, kMarkedBytes * keys_.size() / std::max<size_t>(1, bytes_));
  for (size_t at = 0; at < order_.size(); at += apart) {
    marks_.emplace_back(keys_[order_[at]].substr(0, kMarkBytes));
  }
}

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
  Reader(const RunBuffer& buffer, size_t from, size_t to)
      : buffer_(buffer), next_(from), end_(to) {}

  Result<bool> Next() override {
    const auto& order = buffer_.order_;
    if (next_ == end_) return false;
    constexpr size_t kAhead = 8;  // records lie where they were added: all over memory
    if (next_ + kAhead < end_) {
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
  size_t next_;
  const size_t end_;
};

Result<std::unique_ptr<RunReader>> RunBuffer::Read(const KeyRange& range) const {
  auto place = [this](std::string_view bound) {
    auto before = [this](uint32_t i, std::string_view key) { return keys_[i] < key; };
    auto at = std::lower_bound(order_.begin(), order_.end(), bound, before);
    return static_cast<size_t>(at - order_.begin());
  };
  const size_t from = place(range.lower);
  const size_t to = range.upper ? std::max(from, place(*range.upper)) : order_.size();
  return std::unique_ptr<RunReader>(std::make_unique<Reader>(*this, from, to));
}

RunFile::~RunFile() {
  std::error_code error;
  std::filesystem::remove(path_, error);
}

Result<std::unique_ptr<RunFile>> RunFile::Write(RunReader* run, const std::string& path) {
  std::unique_ptr<RunFile> file(new RunFile(path));
  FLINT_RETURN_IF_ERROR(file->WriteAll(run));
  return file;
}

Status RunFile::WriteAll(RunReader* run) {
  FLINT_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Create(path_));
  std::string out;
  while (true) {
    FLINT_ASSIGN_OR_RETURN(bool more, run->Next());
    if (!more || out.size() >= kMarkedBytes) {
      FLINT_RETURN_IF_ERROR(file.Append(out));
      FLINT_RETURN_IF_ERROR(CheckInterrupt());
      out.clear();
    }
    if (!more) return file.Close();
    if (out.empty()) {
      marks_.emplace_back(run->key().substr(0, kMarkBytes));
      offsets_.push_back(file.size());
    }
    RecordHead head = {static_cast<uint32_t>(run->key().size()),
                       static_cast<uint32_t>(run->row().size())};
    out.append(reinterpret_cast<const char*>(&head), sizeof head);
    out.append(run->key()).append(run->row());
  }
}

class RunFile::Reader : public RunReader {
 public:
  Reader(ReadFile file, uint64_t from, const KeyRange& range)
      : file_(std::move(file)), next_(from), range_(range) {}

  Result<bool> Next() override {
    do {
      FLINT_ASSIGN_OR_RETURN(bool more, Step());
      if (!more || (range_.upper && key_ >= *range_.upper)) return false;
    } while (key_ < range_.lower);
    range_.lower.clear();
    return true;
  }

 private:
  Result<bool> Step();
  // Has `bytes` at hand behind at_; false where the file ends before.
  Result<bool> Fill(size_t bytes);

  ReadFile file_;
  uint64_t next_;  // what is read next from the file
  KeyRange range_;
  std::string buffer_;
  size_t at_ = 0;
};

Result<bool> RunFile::Reader::Fill(size_t bytes) {
  if (buffer_.size() - at_ >= bytes) return true;
  std::string rest = buffer_.substr(at_);
  FLINT_RETURN_IF_ERROR(file_.Read(next_, std::max(kReadBytes, bytes - rest.size()), &buffer_));
  next_ += buffer_.size();
  buffer_.insert(0, rest);
  at_ = 0;
  return buffer_.size() >= bytes;
}

Result<bool> RunFile::Reader::Step() {
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

// From the last record that a mark stands for and that is before the range: a mark as long as
// a bound can be compares with it as its key does.
Result<std::unique_ptr<RunReader>> RunFile::Read(const KeyRange& range) const {
  FLINT_ASSIGN_OR_RETURN(ReadFile file, ReadFile::Open(path_));
  auto mark = std::lower_bound(marks_.begin(), marks_.end(), range.lower) - marks_.begin();
  const uint64_t from = mark == 0 ? 0 : offsets_[static_cast<size_t>(mark - 1)];
  return std::unique_ptr<RunReader>(std::make_unique<Reader>(std::move(file), from, range));
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

std::vector<KeyRange> CutEvenly(const std::vector<const Run*>& runs, size_t parts) {
  std::vector<std::string> marks;
  for (const Run* run : runs) marks.insert(marks.end(), run->marks().begin(), run->marks().end());
  std::sort(marks.begin(), marks.end());
  std::vector<KeyRange> ranges(1);
  for (size_t part = 1; part < parts && !marks.empty(); ++part) {
    const std::string& bound = marks[marks.size() * part / parts];
    if (bound <= ranges.back().lower) continue;
    ranges.back().upper = bound;
    ranges.push_back({bound, std::nullopt});
  }
  return ranges;
}

}  // namespace flint
