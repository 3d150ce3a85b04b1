#pragma once

#include <string>
#include <vector>

namespace flint {

// The compressions that stored files may use in this build: "none", "lz4", "lz4hc", "zstd".
std::vector<std::string> SupportedCompressions();

}  // namespace flint
