#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "changelog/format.h"
#include "changelog/record.h"

namespace flint::changelog {

// Where the blocks of a segment lie, and what the segment says of itself.
struct Contents {
  FileHeader header;
  uint32_t salt = 0;
  std::vector<IndexEntry> blocks;  // of records, in file order, neighbours without a gap
  // The file lacks its end. Then `segment` tells of what can be read: its length is where the last
  // whole block ends, and its checksum 0.
  bool torn = false;
  Segment segment;
};

// Takes the blocks from the index where the file has its end, and follows them from the beginning
// where it has not, telling torn from damaged as docs/format/changelog.md says. Corruption and
// Invalid name file and offset. Nothing is allocated on the word of a size that was not compared
// with the file's own. The bodies of blocks are not looked at, but for the last ones of a torn
// file.
Result<Contents> FindContents(const ReadFile& file);

}  // namespace flint::changelog
