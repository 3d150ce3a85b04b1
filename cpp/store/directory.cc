#include "store/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/fork.h"

namespace flint {
namespace {

std::mutex claims_mutex;
// Never destroyed: threads may go on while the process ends.
std::set<std::string>& claims = *new std::set<std::string>();
uint64_t claims_generation = 0;  // ForkGeneration() of the process whose claims they are

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
  if (std::filesystem::is_directory(directory, error)) return {};
  const std::string parent = ParentOf(directory);
  if (parent != directory) FLINT_RETURN_IF_ERROR(CreateDirectories(parent));
  std::filesystem::create_directory(directory, error);
  if (error) return ErrnoStatus("create directory", directory, error.value());
  return SyncDirectory(parent);
}

std::string ParentOf(const std::string& path) {
  size_t end = path.find_last_not_of('/');
  size_t slash = end == std::string::npos ? end : path.find_last_of('/', end);
  if (slash == std::string::npos) return path.starts_with('/') ? "/" : ".";
  size_t last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
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
  if (claims_generation != ForkGeneration()) claims.clear();
  claims_generation = ForkGeneration();
  if (!claims.insert(canonical).second) {
    return Status::Busy(directory + " is already open in this process (" +
                        std::to_string(::getpid()) + "): share that object, or close it first");
  }
  return std::unique_ptr<DirectoryClaim>(new DirectoryClaim(std::move(canonical)));
}

DirectoryClaim::~DirectoryClaim() {
  std::lock_guard<std::mutex> lock(claims_mutex);
  claims.erase(canonical_);
}

}  // namespace flint
