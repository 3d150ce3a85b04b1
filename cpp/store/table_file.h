#pragma once

#include <string>

#include "base/status.h"

namespace flint {

// Reads a table file (NAME.sst) of a database through, and compares every block with its checksum;
// nothing is kept in a cache. Corruption where one is damaged or the file cut short, IO where the
// system can't read it; both name the file. Thread-safe.
Status VerifyTableFile(const std::string& path);

}  // namespace flint
