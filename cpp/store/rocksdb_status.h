#pragma once

#include <rocksdb/status.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace flint {

// RocksDB's outcome as ours: its kind, "what: message", the directory where it happened and, where
// one helps, what to do. `what` names the operation: "put into table clicks".
Status FromRocksDb(const rocksdb::Status& status, std::string_view what,
                   const std::string& directory);

}  // namespace flint
