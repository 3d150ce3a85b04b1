#include "store/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/fork.h"

namespace flint {
namespace {

std::mutex claims_mutex;
std::map<std::string, uint64_t> claims;  // directory -> fork generation that has it open

// Files that a crash while a database was being created may leave behind.
bool IsLeftOver(std::string_view name) {
  for (std::string_view prefix : {"LOCK", "LOG", "IDENTITY", "MANIFEST-", "OPTIONS-"}) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return name.ends_with(".dbtmp");
}

bool IsTableOrLog(std::string_view name) {
  return name.ends_with(".sst") || name.ends_with(".log");
}

}  // namespace

Result<DirectoryState> InspectDirectory(const std::string& directory) {
  struct stat info;
  if (::stat(directory.c_str(), &info) != 0) {
    if (errno == ENOENT) return DirectoryState::kAbsent;
    return ErrnoStatus("open", directory, errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    return Status::Invalid(directory + " is a file: a store wants a directory of its own");
  }
  std::error_code error;
  std::string stranger;
  bool tables = false;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name == "CURRENT") return DirectoryState::kDatabase;
    if (IsTableOrLog(name))
      tables = true;
    else if (!IsLeftOver(name))
      stranger = name;
  }
  if (error) return ErrnoStatus("list", directory, error.value());
  if (!stranger.empty()) {
    return Status::Invalid(directory + " is not a store, but holds other files (" + stranger +
                           "): choose an empty directory");
  }
  if (tables) {
    return Status::Corruption(directory + " holds a store's files but not CURRENT, which names " +
                              "them: restore from a checkpoint");
  }
  return DirectoryState::kEmpty;
}

Status CreateDirectories(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  return error ? ErrnoStatus("create directory", directory, error.value()) : Status();
}

std::string CanonicalDirectory(const std::string& directory) {
  std::error_code error;
  // Else what is not there yet would stay relative.
  auto path = std::filesystem::absolute(directory, error);
  if (!error) path = std::filesystem::weakly_canonical(path, error);
  return error ? directory : path.string();
}

int64_t LockHolder(const std::string& directory) {
  int fd = ::open((directory + "/LOCK").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  int outcome = ::fcntl(fd, F_GETLK, &lock);
  ::close(fd);
  return outcome == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

Result<std::unique_ptr<DirectoryClaim>> DirectoryClaim::Take(const std::string& directory) {
  std::string canonical = CanonicalDirectory(directory);
  std::lock_guard<std::mutex> lock(claims_mutex);
  auto [entry, inserted] = claims.emplace(canonical, ForkGeneration());
  if (!inserted && entry->second == ForkGeneration()) {
    return Status::Busy(directory + " is already open in this process (" +
                        std::to_string(::getpid()) + "): share that object, or close it first");
  }
  if (!inserted) {
    return Status::Busy(directory + " was open in the process that forked this one (" +
                        std::to_string(::getppid()) + "): open it only after the fork");
  }
  return std::unique_ptr<DirectoryClaim>(new DirectoryClaim(std::move(canonical)));
}

DirectoryClaim::~DirectoryClaim() {
  std::lock_guard<std::mutex> lock(claims_mutex);
  claims.erase(canonical_);
}

}  // namespace flint
