#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "changelog/reader.h"
#include "changelog/record.h"

namespace flint::changelog {

// Neighbouring records of a segment in an order in which they may be applied: sorted by table and
// key, which is what ordered stores take in fastest, records of the same key as they were written.
// A delete-range and metadata stay where they are, and nothing is moved across them. Borrows keys
// and values.
struct SortedBatch {
  std::vector<Record> records;
  uint64_t last_sequence = 0;  // of all records up to and with this batch, selected or not
};

// Whatever can take in a replay. Called from one thread, batch after batch.
class ReplaySink {
 public:
  virtual ~ReplaySink() = default;
  virtual Status Apply(const SortedBatch& batch) = 0;
};

// Hands everything that the reader was opened for to the sink, a batch for each block. While the
// sink applies one, a second thread reads, decompresses and sorts the next; a segment of one block
// is done without. Stops at the first error, the reader's or the sink's; the batches before it have
// been applied.
Status Replay(Reader* reader, ReplaySink* sink);

}  // namespace flint::changelog
