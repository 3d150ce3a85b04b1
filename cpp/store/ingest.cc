#include "store/ingest.h"

#include <rocksdb/sst_file_writer.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/fork.h"
#include "base/interrupt.h"
#include "store/directory.h"
#include "store/rocksdb_status.h"

namespace flint {
namespace {

constexpr char kDirectoryPrefix[] = "ingest-";
constexpr uint64_t kTableBytes = 64 << 20;
constexpr uint64_t kTableBytesMax = 2 * kTableBytes;  // where parts were cut too large
// The disk begins to write a file while the rest of it is made: its sync then waits for little.
constexpr uint64_t kWriteBackBytes = 1 << 20;
// From which on it is worth to write files side by side.
constexpr size_t kSharedBytes = 4 << 20;
constexpr size_t kMergedMax = 64;  // runs that are merged at a time
constexpr int64_t kReportRows = 1 << 16;

std::atomic<uint64_t> next_ingestion{0};

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// Of one buffer: where helpers spill, a second is filled meanwhile.
size_t BufferBytes(const Database& database) {
  const uint64_t all = std::clamp<uint64_t>(database.memory().bytes() / 4, 1 << 20, 256 << 20);
  return static_cast<size_t>(database.helpers().threads() > 1 ? all / 2 : all);
}

// Ends what a helper does for an ingestion once that is in vain.
class UntilStopped : public InterruptScope {
 public:
  explicit UntilStopped(const std::atomic<bool>& stop) : stop_(stop) {}

 protected:
  bool Asked() override { return stop_.load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>& stop_;
};

}  // namespace

void DeleteLeftIngestions(const std::string& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> left;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with(kDirectoryPrefix)) left.push_back(it->path());
  }
  for (const auto& path : left) std::filesystem::remove_all(path, error);
}

Result<std::unique_ptr<Ingestion>> Ingestion::Make(std::shared_ptr<Table> table, Report report) {
  FLINT_RETURN_IF_ERROR(table->Usable());
  if (table->database()->read_only()) {
    return Status::Invalid(table->database()->directory() +
                           " was opened read-only: nothing can be written to it");
  }
  FLINT_ASSIGN_OR_RETURN(auto pin, table->database()->Enter());
  std::unique_ptr<Ingestion> ingestion(new Ingestion(std::move(table), std::move(report)));
  FLINT_RETURN_IF_ERROR(CreateDirectories(ingestion->directory_));
  return ingestion;
}

Ingestion::Ingestion(std::shared_ptr<Table> table, Report report)
    : table_(std::move(table)),
      report_(std::move(report)),
      caller_(std::this_thread::get_id()),
      generation_(ForkGeneration()),
      directory_(table_->database()->directory() + "/" + kDirectoryPrefix +
                 std::to_string(next_ingestion.fetch_add(1))),
      encoder_(table_->shared_schema()),
      filling_(BufferBytes(*table_->database())),
      spilling_(BufferBytes(*table_->database())) {}

Ingestion::~Ingestion() {
  if (ForkGeneration() != generation_) {
    for (auto& run : runs_) static_cast<void>(run.release());  // they are the parent's
    return;
  }
  stop_.store(true);
  if (spill_ != nullptr) spill_->Cancel();
  runs_.clear();
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

std::string Ingestion::NewFile(const char* ending) {
  return directory_ + "/" + std::to_string(files_.fetch_add(1)) + ending;
}

Status Ingestion::Tell() {
  return report_ ? report_({rows_sorted_, rows_written_.load()}) : Status();
}

Status Ingestion::Add(const BatchView& rows) {
  FLINT_RETURN_IF_ERROR(table_->Usable());
  FLINT_RETURN_IF_ERROR(table_->Context(encoder_.Begin(rows, BatchUse::kPut)));
  while (encoder_.more()) {
    FLINT_RETURN_IF_ERROR(table_->Context(encoder_.NextPiece(PieceOrder::kAsGiven)));
    for (size_t i = 0; i < encoder_.size(); ++i) {
      filling_.Add(encoder_.key(i), encoder_.row(i));
    }
    rows_sorted_ += static_cast<int64_t>(encoder_.size());
    if (filling_.full()) FLINT_RETURN_IF_ERROR(Spill());
    FLINT_RETURN_IF_ERROR(CheckInterrupt());
  }
  return {};
}

// Has what was gathered sorted and written: by a helper, or here while it is still at the last.
Status Ingestion::Spill() {
  FLINT_ASSIGN_OR_RETURN(auto pin, table_->database()->Enter());
  if (helpers().threads() == 1 || (spill_ != nullptr && !spill_->done())) {
    FLINT_ASSIGN_OR_RETURN(auto run, Write(&filling_));
    runs_.push_back(std::move(run));
    return Tell();
  }
  FLINT_RETURN_IF_ERROR(Settle());
  std::swap(filling_, spilling_);
  runs_.emplace_back();
  spill_ = std::make_shared<Task>([this] {
    UntilStopped scope(stop_);
    spilled_ = Write(&spilling_);
  });
  helpers().Offer(spill_);
  return Tell();
}

Result<std::unique_ptr<RunFile>> Ingestion::Write(RunBuffer* gathered) {
  gathered->Sort();
  FLINT_ASSIGN_OR_RETURN(auto sorted, gathered->Read({}));
  FLINT_ASSIGN_OR_RETURN(auto run, RunFile::Write(sorted.get(), NewFile(".run")));
  gathered->Clear();
  return run;
}

// Returns once nothing is being spilled.
Status Ingestion::Settle() {
  if (spill_ == nullptr) return {};
  spill_->Wait();
  spill_.reset();
  FLINT_ASSIGN_OR_RETURN(auto run, *std::exchange(spilled_, std::nullopt));
  *std::find(runs_.begin(), runs_.end(), nullptr) = std::move(run);
  return {};
}

Status Ingestion::MergeOldest() {
  std::vector<const Run*> oldest;
  for (size_t i = 0; i < kMergedMax; ++i) oldest.push_back(runs_[i].get());
  FLINT_ASSIGN_OR_RETURN(auto merged, Merged(oldest, {}));
  FLINT_ASSIGN_OR_RETURN(auto run, RunFile::Write(merged.get(), NewFile(".run")));
  merged.reset();
  runs_.erase(runs_.begin(), runs_.begin() + kMergedMax);
  runs_.insert(runs_.begin(), std::move(run));
  return {};
}

Result<std::unique_ptr<RunReader>> Ingestion::Merged(const std::vector<const Run*>& runs,
                                                     const KeyRange& range) const {
  if (runs.size() == 1) return runs[0]->Read(range);
  std::vector<std::unique_ptr<RunReader>> readers;
  for (const Run* run : runs) {
    FLINT_ASSIGN_OR_RETURN(auto reader, run->Read(range));
    readers.push_back(std::move(reader));
  }
  FLINT_ASSIGN_OR_RETURN(auto merger, RunMerger::Make(std::move(readers)));
  return std::unique_ptr<RunReader>(std::move(merger));
}

// Parts of about a file each, and as many as there are threads where that is worth it.
std::vector<Ingestion::Part> Ingestion::Cut(const std::vector<const Run*>& runs) const {
  size_t bytes = 0;
  for (const Run* run : runs) bytes += run->marks().size() * Run::kMarkedBytes;
  size_t parts = (bytes + kTableBytes / 2) / kTableBytes;
  if (bytes >= kSharedBytes) parts = std::max(parts, static_cast<size_t>(helpers().threads()));
  std::vector<Part> cut;
  for (KeyRange& range : CutEvenly(runs, parts)) cut.push_back({std::move(range), {}, {}});
  return cut;
}

Result<std::vector<std::string>> Ingestion::WriteFiles(const std::vector<const Run*>& runs) {
  FLINT_ASSIGN_OR_RETURN(auto pin, table_->database()->Enter());
  const rocksdb::Options options = table_->database()->OptionsOf(table_->family());
  std::vector<Part> parts = Cut(runs);
  helpers().Share(parts.size(), [&](size_t at) {
    Part& part = parts[at];
    part.status = [&]() -> Status {
      FLINT_ASSIGN_OR_RETURN(auto rows, Merged(runs, part.range));
      return WritePart(rows.get(), options, &part);
    }();
    if (!part.status.ok()) stop_.store(true);
  });
  std::vector<std::string> files;
  for (Part& part : parts) {
    FLINT_RETURN_IF_ERROR(part.status);
    std::move(part.files.begin(), part.files.end(), std::back_inserter(files));
  }
  return files;
}

Status Ingestion::WritePart(RunReader* rows, const rocksdb::Options& options, Part* part) {
  rocksdb::EnvOptions files(options);
  files.bytes_per_sync = kWriteBackBytes;
  // What is written is read next: by who hands it over, and by who wanted it.
  rocksdb::SstFileWriter writer(files, options, /*column_family=*/nullptr,
                                /*invalidate_page_cache=*/false);
  int64_t unreported = 0;
  bool open = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    FLINT_ASSIGN_OR_RETURN(bool more, rows->Next());
    rocksdb::Status status;
    if (open && (!more || writer.FileSize() >= kTableBytesMax)) {
      status = writer.Finish();
      open = false;
    }
    if (more && !open && status.ok()) {
      part->files.push_back(NewFile(".sst"));
      status = writer.Open(part->files.back());
      open = true;
    }
    if (more && status.ok()) {
      status = writer.Put(ToSlice(rows->key()), ToSlice(rows->row()));
      ++unreported;
    }
    if (!status.ok()) {
      return FromRocksDb(status, "write a sorted file", table_->database()->directory());
    }
    if (!more) break;
    if (unreported == kReportRows) FLINT_RETURN_IF_ERROR(Wrote(std::exchange(unreported, 0)));
  }
  return Wrote(unreported);
}

Status Ingestion::Wrote(int64_t rows) {
  rows_written_.fetch_add(rows);
  FLINT_RETURN_IF_ERROR(table_->database()->Enter().status());
  FLINT_RETURN_IF_ERROR(CheckInterrupt());
  return std::this_thread::get_id() == caller_ ? Tell() : Status();
}

Result<int64_t> Ingestion::Finish() {
  FLINT_RETURN_IF_ERROR(Settle());
  filling_.Sort();
  while (runs_.size() > kMergedMax) FLINT_RETURN_IF_ERROR(MergeOldest());
  std::vector<const Run*> runs;
  for (const auto& run : runs_) runs.push_back(run.get());
  runs.push_back(&filling_);
  auto files = WriteFiles(runs);
  FLINT_RETURN_IF_ERROR(table_->Context(files.status()));
  FLINT_RETURN_IF_ERROR(Tell());
  FLINT_RETURN_IF_ERROR(table_->Usable());
  if (!files->empty()) {
    FLINT_RETURN_IF_ERROR(
        table_->Context(table_->database()->Ingest(table_->family(), *files, /*move=*/true)));
  }
  return rows_sorted_;
}

}  // namespace flint
