#include "store/log_watch.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"

namespace flint {
namespace {

// RocksDB's log format: blocks, and in them records of a header (checksum, length, type) and a
// body. A record that a block can't hold is cut into a first, middle and last one.
constexpr size_t kBlockBytes = 32 << 10;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kLengthAt = 4;
constexpr size_t kTypeAt = 6;
constexpr uint8_t kFirstType = 2;
constexpr uint8_t kMiddleType = 3;

uint64_t SequenceOf(const rocksdb::WriteBatch& batch) {
  uint64_t sequence = 0;
  if (batch.Data().size() >= sizeof sequence) {
    std::memcpy(&sequence, batch.Data().data(), sizeof sequence);
  }
  return sequence;
}

thread_local LogWatch* watching = nullptr;

class ToTheWatch : public rocksdb::WalFilter {
 public:
  WalProcessingOption LogRecordFound(unsigned long long log_number, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
                                     bool*) override {
    bool right = watching == nullptr ||
                 watching->Saw(log_number, SequenceOf(batch), static_cast<uint32_t>(batch.Count()));
    return right ? WalProcessingOption::kContinueProcessing : WalProcessingOption::kCorruptedRecord;
  }
  const char* Name() const override { return "flint.log_watch"; }
};

// Whether a record is left open at the end of a block's bytes; none: they end within one.
std::optional<bool> LeavesOpen(std::string_view block, bool open) {
  while (block.size() >= kHeaderBytes) {
    uint16_t length;
    std::memcpy(&length, block.data() + kLengthAt, sizeof length);
    auto type = static_cast<uint8_t>(block[kTypeAt]);
    if (block.size() - kHeaderBytes < length) return std::nullopt;
    open = type == kFirstType || type == kMiddleType;
    block.remove_prefix(kHeaderBytes + length);
  }
  return open;
}

// Whether a record of a reused file is met on the way through a block.
bool HoldsReused(std::string_view block) {
  while (block.size() >= kHeaderBytes) {
    uint16_t length;
    std::memcpy(&length, block.data() + kLengthAt, sizeof length);
    auto type = static_cast<uint8_t>(block[kTypeAt]);
    if ((type >= 5 && type <= 8) || type == 11 || type == 131) return true;
    if ((type == 0 && length == 0) || block.size() - kHeaderBytes < length) return false;
    block.remove_prefix(kHeaderBytes + length);
  }
  return false;
}

Status RefuseReusedIn(const std::string& path) {
  FLINT_ASSIGN_OR_RETURN(ReadFile file, ReadFile::Open(path));
  std::string block;
  for (uint64_t at = 0; at < file.size(); at += kBlockBytes) {
    FLINT_RETURN_IF_ERROR(file.Read(at, kBlockBytes, &block));
    if (!HoldsReused(block)) continue;
    return Status::Corruption(path + " is damaged between its bytes " + std::to_string(at) +
                              " and " + std::to_string(at + block.size()) +
                              ": a record there is of a kind that is never written. Nothing was "
                              "changed: restore from a checkpoint");
  }
  return {};
}

// The numbers of the logs from first..end-1, ascending.
std::vector<std::pair<uint64_t, std::string>> LogsBetween(const std::string& directory,
                                                          uint64_t first, uint64_t end) {
  std::vector<std::pair<uint64_t, std::string>> logs;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), last; !error && it != last;
       it.increment(error)) {
    if (it->path().extension() != ".log") continue;
    uint64_t number = std::strtoull(it->path().stem().c_str(), nullptr, 10);
    if (number >= first && number < end) logs.emplace_back(number, it->path().string());
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

}  // namespace

Result<bool> EndsWithARecord(const std::string& log) {
  FLINT_ASSIGN_OR_RETURN(ReadFile file, ReadFile::Open(log));
  std::optional<bool> open = true;
  std::string block;
  for (uint64_t at = 0; at < file.size() && open; at += kBlockBytes) {
    FLINT_RETURN_IF_ERROR(file.Read(at, kBlockBytes, &block));
    open = LeavesOpen(block, *open);
  }
  return open.has_value() && !*open;
}

Status RefuseReusedRecords(const std::string& directory) {
  for (const auto& [number, path] : LogsBetween(directory, 0, UINT64_MAX)) {
    FLINT_RETURN_IF_ERROR(RefuseReusedIn(path));
  }
  std::string manifest;
  std::ifstream(directory + "/CURRENT") >> manifest;
  std::error_code error;
  bool there =
      !manifest.empty() && std::filesystem::is_regular_file(directory + "/" + manifest, error);
  return there ? RefuseReusedIn(directory + "/" + manifest)
               : Status();  // RocksDB says what is wrong
}

// Sequence numbers are also given away without a log, by files that are ingested: so a gap alone is
// no hole, but a gap behind a log that breaks off.
Status LogWatch::FindHole(uint64_t next_log, uint64_t sequence) const {
  if (log_ == 0 || sequence <= next_sequence_) return {};
  for (const auto& [number, path] : LogsBetween(directory_, log_, next_log)) {
    FLINT_ASSIGN_OR_RETURN(bool whole, EndsWithARecord(path));
    if (whole) continue;
    return Status::Corruption(
        path + " breaks off before write " + std::to_string(sequence) +
        ", at which the next log goes on: the writes from " + std::to_string(next_sequence_) +
        " on, or some of them, are lost in the middle of the store's history. Nothing was changed: "
        "restore from a checkpoint");
  }
  return {};
}

bool LogWatch::Saw(uint64_t log, uint64_t sequence, uint32_t count) {
  if (log != log_) found_ = FindHole(log, sequence);
  log_ = log;
  next_sequence_ = sequence + count;
  return found_.ok();
}

LogWatch::LogWatch(std::string directory) : directory_(std::move(directory)) { watching = this; }

LogWatch::~LogWatch() { watching = nullptr; }

rocksdb::WalFilter* LogWatch::Filter() {
  static auto* filter = new ToTheWatch();
  return filter;
}

}  // namespace flint
