#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "state/change_batch.h"
#include "state/ordered_scan.h"
#include "state/state_context.h"
#include "state/state_descriptor.h"
#include "state/time_to_live.h"

namespace flint {

// Counted always: plain additions.
struct StateMetrics {
  uint64_t reads = 0;          // calls that read
  uint64_t writes = 0;         // calls that write
  uint64_t cache_hits = 0;     // reads that were answered without RocksDB
  uint64_t store_reads = 0;    // keys, or ranges, read from RocksDB
  uint64_t bytes_read = 0;     // of values, from RocksDB
  uint64_t bytes_written = 0;  // of keys and values, towards RocksDB
};

// What is kept of a state, whether anybody has opened it or not.
struct StateEntry {
  uint32_t id = 0;
  StateDescriptor descriptor;
  Family* family = nullptr;
  std::shared_ptr<ExpiryRule> expiry;
};

// One state: its column family and, in front of it, a cache of what was read and what is to be
// written. Reads are exact whatever of it is in the cache; nothing reaches RocksDB but through
// Drain. Belongs to its backend; one thread at a time.
class StateTable {
 public:
  StateTable(std::shared_ptr<StateContext> context, const StateEntry& entry)
      : context_(std::move(context)), entry_(entry) {}
  virtual ~StateTable() = default;
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;

  // Moves all changes since the last call to `changes`, in the order of their row keys.
  virtual Status Drain(ChangeBatch* changes) = 0;
  // Every row that the state has, by its whole row key, as of now; expired ones left out.
  virtual Result<std::unique_ptr<OrderedScan>> ScanAll() = 0;
  // Drops what is cached. Requires that all was drained.
  virtual void Forget() = 0;

  // The namespace of single calls, encoded; empty for states that have none.
  void SetSpace(std::string_view encoded) {
    space_ = encoded;
    located_epoch_ = 0;
  }
  const std::string& space() const { return space_; }

  const StateEntry& entry() const { return entry_; }
  const StateDescriptor& descriptor() const { return entry_.descriptor; }
  StateMetrics& metrics() { return metrics_; }
  StateContext& context() const { return *context_; }
  ExpiryRule& expiry() const { return *entry_.expiry; }

 protected:
  Database& database() const { return *context_->database; }
  // "value state 'count'", for messages.
  std::string Label() const {
    return std::string(KindName(descriptor().kind)) + " state '" + descriptor().name + "'";
  }
  const std::shared_ptr<StateContext> context_;
  const StateEntry entry_;
  std::string space_;
  uint64_t located_epoch_ = 0;  // of the current key for which the subclass's cursor stands
  StateMetrics metrics_;
};

}  // namespace flint
