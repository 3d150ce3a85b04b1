#include "store/compression.h"

#include <rocksdb/convenience.h>

namespace flint {

std::vector<std::string> SupportedCompressions() {
  std::vector<std::string> names;
  for (rocksdb::CompressionType type : rocksdb::GetSupportedCompressions()) {
    if (type == rocksdb::kNoCompression) names.emplace_back("none");
    if (type == rocksdb::kLZ4Compression) names.emplace_back("lz4");
    if (type == rocksdb::kLZ4HCCompression) names.emplace_back("lz4hc");
    if (type == rocksdb::kZSTD) names.emplace_back("zstd");
  }
  return names;
}

}  // namespace flint
