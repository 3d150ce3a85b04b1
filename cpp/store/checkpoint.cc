#include "store/checkpoint.h"

#include <rocksdb/utilities/checkpoint.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/file.h"
#include "base/interrupt.h"
#include "store/database.h"
#include "store/directory.h"

namespace flint {
namespace {

std::string WithoutTrailingSlash(std::string directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory;
}

Status SyncFilesOf(const std::string& directory, bool linked_too) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    FLINT_RETURN_IF_ERROR(CheckInterrupt());
    struct stat info;
    std::string file = it->path().string();
    if (::stat(file.c_str(), &info) != 0) return ErrnoStatus("stat", file, errno);
    if (linked_too || info.st_nlink == 1) FLINT_RETURN_IF_ERROR(SyncFile(file));
  }
  if (error) return ErrnoStatus("list", directory, error.value());
  return SyncDirectory(directory);
}

Status MakePartial(Database& database, const std::string& partial) {
  FLINT_ASSIGN_OR_RETURN(auto pin, database.Enter());
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(database.raw(), &made);
  std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (status.ok()) status = checkpoint->CreateCheckpoint(partial);
  return database.From(status, "make a checkpoint " + partial);
}

}  // namespace

Status MakeCheckpoint(Database& database, const std::string& target,
                      const CheckpointOptions& options) {
  if (database.read_only()) {
    return Status::Invalid(database.directory() +
                           " was opened read-only: copy its directory instead of a checkpoint");
  }
  const std::string directory = WithoutTrailingSlash(target);
  if (std::error_code error; std::filesystem::exists(directory, error)) {
    return Status::Invalid("checkpoint: " + directory + " exists already: choose a new name");
  }
  const std::string parent = ParentOf(directory);
  FLINT_RETURN_IF_ERROR(CreateDirectories(parent));
  const std::string partial = directory + ".partial";
  std::error_code error;
  std::filesystem::remove_all(partial, error);
  Status status = MakePartial(database, partial);
  if (status.ok()) status = SyncFilesOf(partial, options.sync_linked_files);
  if (!status.ok()) {
    std::filesystem::remove_all(partial, error);
    return status;
  }
  if (std::rename(partial.c_str(), directory.c_str()) != 0) {
    return ErrnoStatus("rename to", directory, errno);
  }
  return SyncDirectory(parent);
}

}  // namespace flint
