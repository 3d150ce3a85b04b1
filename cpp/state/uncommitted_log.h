#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/fork.h"
#include "base/status.h"
#include "state/change_batch.h"

namespace flint {

// Changes that had to leave the cache before they were committed, on disk until the segment is
// written: however many they are, no more of them is in memory than one batch. The file means
// nothing to whoever opens the directory later, and is removed then; a forked child leaves it
// alone. One thread at a time.
class UncommittedLog {
 public:
  // `path` is a name in the backend's directory that nothing else has.
  UncommittedLog(std::string path, size_t group_bytes)
      : path_(std::move(path)), group_bytes_(group_bytes) {
    RemoveFile();
  }
  ~UncommittedLog() { Clear(); }
  UncommittedLog(const UncommittedLog&) = delete;
  UncommittedLog& operator=(const UncommittedLog&) = delete;

  bool empty() const { return pieces_.empty(); }
  Status Append(const ChangeBatch& changes);
  // Appends all changes to `log`, in order.
  Status WriteTo(ChangeWriter* log) const;
  void Clear();

 private:
  struct Piece {
    uint64_t offset;
    size_t size;
    uint32_t checksum;
    std::vector<uint32_t> tables;
  };

  void RemoveFile() const;

  std::string path_;
  size_t group_bytes_;
  uint64_t generation_ = ForkGeneration();
  std::optional<AppendFile> file_;
  std::vector<Piece> pieces_;
};

}  // namespace flint
