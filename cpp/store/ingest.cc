#include "store/ingest.h"

#include <rocksdb/sst_file_writer.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "store/directory.h"
#include "store/rocksdb_status.h"

namespace flint {
namespace {

constexpr char kDirectoryPrefix[] = "ingest-";
constexpr uint64_t kTableBytes = 64ull << 20;
constexpr size_t kMergedMax = 64;  // runs that are merged at a time
constexpr int64_t kReportRows = 1 << 16;

std::atomic<uint64_t> next_ingestion{0};

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

size_t BufferBytes(const MemoryBudget& memory) {
  return static_cast<size_t>(std::clamp<uint64_t>(memory.bytes() / 4, 1 << 20, 256 << 20));
}

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
      directory_(table_->database()->directory() + "/" + kDirectoryPrefix +
                 std::to_string(next_ingestion.fetch_add(1))),
      encoder_(table_->shared_schema()),
      buffer_(BufferBytes(table_->database()->memory())) {}

Ingestion::~Ingestion() {
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

std::string Ingestion::NewFile(const char* ending) {
  return directory_ + "/" + std::to_string(files_++) + ending;
}

Status Ingestion::Tell() { return report_ ? report_(progress_) : Status(); }

Status Ingestion::Add(const BatchView& rows) {
  FLINT_RETURN_IF_ERROR(table_->Usable());
  FLINT_RETURN_IF_ERROR(table_->Context(encoder_.Begin(rows, BatchUse::kPut)));
  while (encoder_.more()) {
    FLINT_RETURN_IF_ERROR(table_->Context(encoder_.NextPiece(PieceOrder::kAsGiven)));
    for (size_t i = 0; i < encoder_.size(); ++i) {
      buffer_.Add(encoder_.key(i), encoder_.row(i));
    }
    progress_.rows_sorted += static_cast<int64_t>(encoder_.size());
    if (buffer_.full()) FLINT_RETURN_IF_ERROR(Spill());
  }
  return {};
}

Status Ingestion::Spill() {
  buffer_.Sort();
  runs_.push_back(NewFile(".run"));
  FLINT_RETURN_IF_ERROR(WriteRun(buffer_.Read().get(), runs_.back()));
  buffer_.Clear();
  return Tell();
}

// All that was added, in key order. Many runs are merged to fewer before, the oldest first.
Result<std::unique_ptr<RunReader>> Ingestion::Merged() {
  buffer_.Sort();
  if (runs_.empty()) return buffer_.Read();
  while (runs_.size() > kMergedMax) FLINT_RETURN_IF_ERROR(MergeOldest());
  std::vector<std::unique_ptr<RunReader>> readers;
  for (const std::string& run : runs_) {
    FLINT_ASSIGN_OR_RETURN(auto reader, RunFile::Open(run));
    readers.push_back(std::move(reader));
  }
  readers.push_back(buffer_.Read());
  FLINT_ASSIGN_OR_RETURN(auto merger, RunMerger::Make(std::move(readers)));
  return std::unique_ptr<RunReader>(std::move(merger));
}

Status Ingestion::MergeOldest() {
  std::vector<std::unique_ptr<RunReader>> readers;
  for (size_t i = 0; i < kMergedMax; ++i) {
    FLINT_ASSIGN_OR_RETURN(auto reader, RunFile::Open(runs_[i]));
    readers.push_back(std::move(reader));
  }
  FLINT_ASSIGN_OR_RETURN(auto merger, RunMerger::Make(std::move(readers)));
  const std::string merged = NewFile(".run");
  FLINT_RETURN_IF_ERROR(WriteRun(merger.get(), merged));
  merger.reset();
  std::error_code error;
  for (size_t i = 0; i < kMergedMax; ++i) std::filesystem::remove(runs_[i], error);
  runs_.erase(runs_.begin(), runs_.begin() + kMergedMax);
  runs_.insert(runs_.begin(), merged);
  return {};
}

Status Ingestion::WriteFiles(RunReader* rows) {
  const std::string& where = table_->database()->directory();
  rocksdb::Options options;
  {
    FLINT_ASSIGN_OR_RETURN(auto pin, table_->database()->Enter());
    options = table_->database()->OptionsOf(table_->family());
  }
  rocksdb::EnvOptions env(options);
  rocksdb::SstFileWriter writer(env, options);
  bool open = false;
  while (true) {
    FLINT_ASSIGN_OR_RETURN(bool more, rows->Next());
    rocksdb::Status status;
    if (open && (!more || writer.FileSize() >= kTableBytes)) {
      status = writer.Finish();
      open = false;
    }
    if (!more) return FromRocksDb(status, "write a sorted file", where);
    if (!open && status.ok()) {
      tables_.push_back(NewFile(".sst"));
      status = writer.Open(tables_.back());
      open = true;
    }
    if (status.ok()) status = writer.Put(ToSlice(rows->key()), ToSlice(rows->row()));
    if (!status.ok()) return FromRocksDb(status, "write a sorted file", where);
    if (++progress_.rows_written % kReportRows == 0) FLINT_RETURN_IF_ERROR(Tell());
  }
}

Result<int64_t> Ingestion::Finish() {
  FLINT_ASSIGN_OR_RETURN(auto rows, Merged());
  FLINT_RETURN_IF_ERROR(table_->Context(WriteFiles(rows.get())));
  rows.reset();
  FLINT_RETURN_IF_ERROR(Tell());
  FLINT_RETURN_IF_ERROR(table_->Usable());
  if (!tables_.empty()) {
    FLINT_RETURN_IF_ERROR(
        table_->Context(table_->database()->Ingest(table_->family(), tables_, /*move=*/true)));
  }
  return progress_.rows_sorted;
}

}  // namespace flint
