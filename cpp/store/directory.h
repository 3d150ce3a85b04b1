#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace flint {

// What stands in a directory that is to be opened as a database.
enum class DirectoryState : uint8_t { kAbsent, kEmpty, kDatabase };

// Invalid where `directory` is a file, or holds something else than a database; Corruption where
// it holds a database's files but not the one that names the others.
Result<DirectoryState> InspectDirectory(const std::string& directory);

// Creates it with its parents; the names of all that are new are `machine` durable.
Status CreateDirectories(const std::string& directory);

// "/a" of "/a/b" and "/a/b/"; "." of "b".
std::string ParentOf(const std::string& path);

// The directory with links resolved, by which two names of one directory are known to be the same.
std::string CanonicalDirectory(const std::string& directory);

// The id of the process that holds the lock of the database in `directory`; 0 where nobody does or
// it can't be known. Must not be called for a directory that this process has open: asking would
// give up its lock.
int64_t LockHolder(const std::string& directory);

// That this process has the directory open. There is at most one claim for each directory in a
// process, which the system's locks, being one process's, don't see to.
class DirectoryClaim {
 public:
  // Busy where this process has it open; what its parent had open when it forked is no matter: the
  // system's lock knows whether it still has. Both are called under NoFork.
  static Result<std::unique_ptr<DirectoryClaim>> Take(const std::string& directory);
  ~DirectoryClaim();

 private:
  explicit DirectoryClaim(std::string canonical) : canonical_(std::move(canonical)) {}

  std::string canonical_;
};

}  // namespace flint
