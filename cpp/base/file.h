#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fork.h"
#include "base/status.h"

namespace flint {

// Three words for what survives what, used the same everywhere:
//   object   bytes are in this object's memory: gone when it or its process dies.
//   process  the kernel has them: they survive the death of the process, not of the machine.
//   machine  the device has them: they survive a power cut.

// A file that is only ever appended to. Append makes bytes `process` durable, Sync makes all
// appended bytes `machine` durable (the file's entry in its directory too, once SyncDirectory was
// called). One thread at a time. After a failed Append or Sync the file is poisoned: the kernel may
// have dropped the pages while calling them clean, so every later call returns the first error
// and nothing is retried into success. The destructor closes without syncing.
//
// A file of more than a megabyte takes room on the device ahead of its end, where the system can do
// that, for then writing costs less; its length tells nothing of it. Close gives back what is left
// of that room: a file that was not closed keeps it, as much as it is long and 16 MiB at most.
class AppendFile {
 public:
  // Fails where `path` exists: a name is written once.
  static Result<AppendFile> Create(const std::string& path);

  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  Status Append(std::string_view bytes) { return Append({&bytes, 1}); }
  // Pieces one after another, many by one call of the kernel, which is much cheaper for small ones.
  // After an error a beginning of them may be there.
  Status Append(std::span<const std::string_view> pieces);
  Status Sync();
  Status Close();

  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  AppendFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Status Poison(Status error);
  void TakeRoom(size_t bytes);
  void GiveRoomBack();

  int fd_ = -1;
  uint64_t size_ = 0;
  uint64_t room_end_ = 0;                   // up to here there is room on the device
  bool may_take_room_ = true;               // the system has not refused it
  uint64_t generation_ = ForkGeneration();  // of the process whose file it is
  std::string path_;
  Status poison_;
};

// A file open for reading at any offset. Reads may come from several threads.
class ReadFile {
 public:
  static Result<ReadFile> Open(const std::string& path);

  ReadFile(ReadFile&& other) noexcept;
  ReadFile& operator=(ReadFile&& other) noexcept;
  ~ReadFile();

  // Fills `out` with up to `size` bytes from `offset`: fewer only at the end of the file.
  Status Read(uint64_t offset, size_t size, std::string* out) const;

  uint64_t size() const { return size_; }  // as it was when opened
  const std::string& path() const { return path_; }

 private:
  ReadFile(int fd, uint64_t size, std::string path)
      : fd_(fd), size_(size), path_(std::move(path)) {}

  int fd_ = -1;
  uint64_t size_ = 0;
  std::string path_;
};

// Makes what happened to the file's content `machine` durable, whoever wrote it.
Status SyncFile(const std::string& path);
// Makes names created in, renamed into or removed from the directory `machine` durable.
Status SyncDirectory(const std::string& path);

// The error for errno after a failed call: "open /a/b: No such file or directory", with a hint
// where one helps (a full disk, a missing permission).
Status ErrnoStatus(std::string_view what, const std::string& path, int error_number);

}  // namespace flint
