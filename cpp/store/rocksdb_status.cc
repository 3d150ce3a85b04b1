#include "store/rocksdb_status.h"

#include <cerrno>
#include <cstring>

namespace flint {
namespace {

const char* HintFor(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return " (free some space, then open it again)";
  if (status.IsCorruption()) return " (stored bytes are damaged: restore from a checkpoint)";
  if (status.IsIOError() && status.ToString().find("Too many open files") != std::string::npos) {
    return " (raise the limit of open files, `ulimit -n`)";
  }
  return "";
}

// RocksDB keeps of errno only how the system calls it, at the end of its text.
int ErrorNumberOf(const rocksdb::Status& status) {
  constexpr int kErrorNumbers = 134;  // more than any system has
  if (status.IsNoSpace()) return ENOSPC;
  const std::string text = status.ToString();
  for (int number = 1; number < kErrorNumbers; ++number) {
    if (text.ends_with(std::string(": ") + std::strerror(number))) return number;
  }
  return 0;
}

}  // namespace

Status FromRocksDb(const rocksdb::Status& status, std::string_view what,
                   const std::string& directory) {
  if (status.ok()) return {};
  std::string message =
      std::string(what) + " in " + directory + ": " + status.ToString() + HintFor(status);
  switch (status.code()) {
    case rocksdb::Status::kNotFound:
      return Status::NotFound(std::move(message));
    case rocksdb::Status::kCorruption:
      return Status::Corruption(std::move(message));
    case rocksdb::Status::kNotSupported:
    case rocksdb::Status::kInvalidArgument:
      return Status::Invalid(std::move(message));
    case rocksdb::Status::kBusy:
    case rocksdb::Status::kTimedOut:
    case rocksdb::Status::kTryAgain:
      return Status::Busy(std::move(message));
    case rocksdb::Status::kShutdownInProgress:
      return Status::Closed(std::move(message));
    default:
      return Status::IO(std::move(message), ErrorNumberOf(status));
  }
}

}  // namespace flint
