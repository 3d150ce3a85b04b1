#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "state/change_batch.h"
#include "state/change_log.h"
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

// Where a call works, and how often its state had been written to when it began. Code of the user's
// that runs in the middle of it (a function, a codec, a clock, a generator, a conversion) may not
// change either.
struct CallPlace {
  uint64_t key = 0;  // hashes
  uint64_t space = 0;
  uint64_t writes = 0;

  bool operator==(const CallPlace&) const = default;
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
  // Every row that the state has, by its whole row key, as of now; expired ones are left out.
  virtual Result<std::unique_ptr<OrderedScan>> ScanAll() = 0;
  // Drops what is cached. Requires that all was drained.
  virtual void Forget() = 0;

  // The namespace of single calls, encoded; empty for states that have none.
  void SetSpace(std::string_view encoded);
  const std::string& space() const { return space_; }

  CallPlace place() const { return {context_->key.hash, space_hash_, metrics_.writes}; }
  // After code of the user's has run: Invalid where the place is another one, Closed where the
  // backend was closed.
  Status CheckStillAt(const CallPlace& place) const {
    FLINT_RETURN_IF_ERROR(context_->CheckUsable());
    return place == this->place() ? Status() : WasMoved(place);
  }

  // What single calls begin with: whether there is a key, and what time it is.
  Status Begin(Moment* now) const {
    FLINT_RETURN_IF_ERROR(context_->CheckKey());
    return expiry().ttl().enabled() ? AskTime(now) : Status();
  }
  // The same for calls that name their keys.
  Result<Moment> BeginMany() const;
  // What writes that give a row a stamp begin with: Invalid where there is none in event time.
  Status CheckDated(const Moment& now) const {
    return now.event_time && now.stamp == kNoTime ? Undated() : Status();
  }
  // Invalid where a row can't be kept under a key of the backend's and what follows that in this
  // state. Calls that write several rows ask for all of them before they touch anything.
  Status CheckFits(size_t key_bytes, size_t suffix_bytes, size_t row_bytes) const {
    return CheckSize(context_->group_bytes + key_bytes + space_.size() + suffix_bytes, row_bytes);
  }
  Status CheckFits(size_t suffix_bytes, size_t row_bytes) const {
    return CheckFits(context_->key.bytes.size(), suffix_bytes, row_bytes);
  }

  // "value state 'count'", for messages.
  std::string Label() const {
    return std::string(KindName(descriptor().kind)) + " state '" + descriptor().name + "'";
  }
  const StateEntry& entry() const { return entry_; }
  const StateDescriptor& descriptor() const { return entry_.descriptor; }
  StateMetrics& metrics() { return metrics_; }
  StateContext& context() const { return *context_; }
  ExpiryRule& expiry() const { return *entry_.expiry; }

 protected:
  Database& database() const { return *context_->database; }
  const std::shared_ptr<StateContext> context_;
  const StateEntry entry_;
  std::string space_;
  uint64_t space_hash_ = 0;
  uint64_t located_epoch_ = 0;  // of the current key for which the subclass's cursor stands
  StateMetrics metrics_;

 private:
  Status AskTime(Moment* now) const;
  Status WasMoved(const CallPlace& place) const;
  Status Undated() const;
};

}  // namespace flint
