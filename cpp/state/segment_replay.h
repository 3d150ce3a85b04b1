#pragma once

#include <rocksdb/write_batch.h>

#include <cstdint>
#include <functional>
#include <map>

#include "base/status.h"
#include "changelog/reader.h"
#include "store/database.h"

namespace flint {

// Where the records of a segment go. Keys and values are written as they are; whoever wrote the log
// knows what is in them.
struct ReplayTarget {
  Database* database = nullptr;
  std::map<uint32_t, Family*> tables;  // by their numbers in the log

  // Called for each metadata record, and may add to the batch in which its neighbours are written.
  // Without it they are passed over.
  std::function<Status(const changelog::Record&, rocksdb::WriteBatch*)> metadata;
  // Called at the end of each batch with the last sequence number that it covers: what this adds is
  // written with the batch or not at all, so that the next replay knows where to go on.
  std::function<Status(uint64_t last_sequence, rocksdb::WriteBatch*)> mark;
};

// Writes what the reader was opened for straight into the tables of a database: a RocksDB batch for
// each block of the segment, in key order, while another thread decodes and sorts the next. Invalid
// where a record's table is not among `tables`, Corruption where RocksDB would take a record into
// its log and not be able to apply it; at the first error it stops, with whole batches
// written before it and nothing after.
Status ReplaySegment(changelog::Reader* reader, const ReplayTarget& target);

}  // namespace flint
