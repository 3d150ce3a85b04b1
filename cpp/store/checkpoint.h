#pragma once

#include <string>

#include "base/status.h"

namespace flint {

class Database;

struct CheckpointOptions {
  // The files that are linked were synced when RocksDB finished them. true syncs them once more,
  // which costs a call for each and guards against a file system that lied about it.
  bool sync_linked_files = true;
};

// Makes `directory`, which must not exist (Invalid), a database of its own that holds what
// `database` holds now: immutable files are linked, or copied where links can't go, the rest is
// copied. It appears under its name only once it is `machine` durable; after a crash nothing, or
// `directory`.partial, is left, which the next attempt clears. Writers go on meanwhile.
Status MakeCheckpoint(Database& database, const std::string& directory,
                      const CheckpointOptions& options = {});

}  // namespace flint
