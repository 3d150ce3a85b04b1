#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/gather.h"

namespace flint {
namespace {

constexpr uint64_t kSmallFile = 1u << 20;  // not worth room of its own
constexpr uint64_t kRoomMost = 16u << 20;

int OpenRetrying(const std::string& path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

int SyncDescriptor(int fd) {
#if defined(__APPLE__)
  if (::fcntl(fd, F_FULLFSYNC) == 0) return 0;  // plain fsync stops at the drive's cache there
#endif
  return ::fsync(fd);
}

int SyncData(int fd) {
#if defined(__APPLE__)
  return SyncDescriptor(fd);
#else
  return ::fdatasync(fd);
#endif
}

Status SyncPath(const std::string& path, int flags) {
  int fd = OpenRetrying(path, flags);
  if (fd < 0) return ErrnoStatus("open", path, errno);
  int failed = SyncDescriptor(fd) != 0 ? errno : 0;
  ::close(fd);
  return failed != 0 ? ErrnoStatus("sync", path, failed) : Status();
}

const char* HintFor(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return " (free some space, or choose another directory)";
    case EACCES:
    case EPERM:
    case EROFS:
      return " (choose a directory that this user may write)";
    case EMFILE:
      return " (raise the limit of open files, `ulimit -n`)";
    default:
      return "";
  }
}

}  // namespace

Status ErrnoStatus(std::string_view what, const std::string& path, int error_number) {
  std::string message = std::string(what) + " " + path + ": " + std::strerror(error_number);
  message += HintFor(error_number);
  if (error_number == ENOENT) return Status::NotFound(std::move(message));
  return Status::IO(std::move(message), error_number);
}

Result<AppendFile> AppendFile::Create(const std::string& path) {
  int fd = OpenRetrying(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
  if (fd < 0) return ErrnoStatus("create", path, errno);
  return AppendFile(fd, path);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      room_end_(other.room_end_),
      may_take_room_(other.may_take_room_),
      generation_(other.generation_),
      path_(std::move(other.path_)),
      poison_(std::move(other.poison_)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(room_end_, other.room_end_);
  std::swap(may_take_room_, other.may_take_room_);
  std::swap(generation_, other.generation_);
  std::swap(path_, other.path_);
  std::swap(poison_, other.poison_);
  return *this;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status AppendFile::Poison(Status error) {
  poison_ = error;
  return error;
}

// Best effort: a device without room says so when it is written to.
void AppendFile::TakeRoom(size_t bytes) {
  if (size_ + bytes <= std::max(room_end_, kSmallFile) || !may_take_room_) return;
#if defined(__linux__)
  uint64_t more = bytes + std::min(size_, kRoomMost);
  may_take_room_ = ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_),
                               static_cast<off_t>(more)) == 0;
  if (may_take_room_) room_end_ = size_ + more;
#endif
}

// A forked child knows nothing of what its parent has written since: it leaves the file alone.
void AppendFile::GiveRoomBack() {
  if (room_end_ <= size_ || generation_ != ForkGeneration()) return;
  room_end_ = size_;
  static_cast<void>(::ftruncate(fd_, static_cast<off_t>(size_)) == 0);
}

Status AppendFile::Append(std::span<const std::string_view> pieces) {
  FLINT_RETURN_IF_ERROR(poison_);
  if (fd_ < 0) return Status::Closed("append to " + path_ + ": the file is closed");
  size_t bytes = 0;
  for (std::string_view piece : pieces) bytes += piece.size();
  TakeRoom(bytes);
  return WritePieces(pieces, [&](const iovec* vectors, int count) -> Result<size_t> {
    ssize_t written;
    do {
      written = ::writev(fd_, vectors, count);
    } while (written < 0 && errno == EINTR);
    if (written < 0) return Poison(ErrnoStatus("write", path_, errno));
    size_ += static_cast<uint64_t>(written);
    return static_cast<size_t>(written);
  });
}

Status AppendFile::Sync() {
  FLINT_RETURN_IF_ERROR(poison_);
  if (fd_ < 0) return Status::Closed("sync " + path_ + ": the file is closed");
  if (SyncData(fd_) != 0) return Poison(ErrnoStatus("sync", path_, errno));
  return Status();
}

Status AppendFile::Close() {
  if (fd_ < 0) return poison_;
  GiveRoomBack();
  int failed = ::close(std::exchange(fd_, -1)) != 0 ? errno : 0;
  if (failed != 0 && failed != EINTR) return Poison(ErrnoStatus("close", path_, failed));
  return poison_;
}

Result<ReadFile> ReadFile::Open(const std::string& path) {
  int fd = OpenRetrying(path, O_RDONLY);
  if (fd < 0) return ErrnoStatus("open", path, errno);
  struct stat about;
  if (::fstat(fd, &about) != 0) {
    int failed = errno;
    ::close(fd);
    return ErrnoStatus("stat", path, failed);
  }
  return ReadFile(fd, static_cast<uint64_t>(about.st_size), path);
}

ReadFile::ReadFile(ReadFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), path_(std::move(other.path_)) {}

ReadFile& ReadFile::operator=(ReadFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

ReadFile::~ReadFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status ReadFile::Read(uint64_t offset, size_t size, std::string* out) const {
  uint64_t available = offset < size_ ? size_ - offset : 0;
  if (size > available) size = static_cast<size_t>(available);
  out->resize(size);
  size_t done = 0;
  while (done < size) {
    ssize_t got = ::pread(fd_, out->data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("read", path_, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  out->resize(done);
  return Status();
}

Status SyncFile(const std::string& path) { return SyncPath(path, O_RDONLY); }

Status SyncDirectory(const std::string& path) { return SyncPath(path, O_RDONLY | O_DIRECTORY); }

}  // namespace flint
