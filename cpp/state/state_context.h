#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "state/row_key.h"
#include "state/time_to_live.h"
#include "store/database.h"

namespace flint {

// A key as states use it: canonical bytes, their hash, and the key group that follows from it.
struct StateKey {
  std::string_view bytes;
  uint64_t hash = 0;
  uint16_t group = 0;
};

// The key that single calls are about.
struct CurrentKey {
  std::string bytes;
  uint64_t hash = 0;
  uint16_t group = 0;
  bool set = false;
  uint64_t epoch = 1;  // another one with each key, and whenever cached entries move

  StateKey view() const { return {bytes, hash, group}; }
};

// What the states of one backend share. One thread at a time.
struct StateContext {
  std::shared_ptr<Database> database;
  std::shared_ptr<StateClock> clock;
  size_t group_bytes = 1;
  CurrentKey key;
  uint64_t next_element = 1;

  // Not ok once the backend was closed, or poisoned by a failed commit.
  Status health;
  // Whether single calls may go on: it is healthy, and no thread has borrowed it for longer work.
  bool usable = false;

  size_t cached_bytes = 0;
  size_t cached_bytes_max = 0;
  std::function<Status()> spill;  // writes everything out and forgets it

  // What every single call on a state begins with.
  Status CheckKey() const {
    if (usable && key.set) return {};
    if (usable) return Status::Invalid("no current key: call set_key first");
    return CheckUsable();
  }
  Status CheckUsable() const {
    if (usable) return {};
    return health.ok() ? Status::Busy("another thread is at work on the backend") : health;
  }
  bool HasRoom() const { return cached_bytes <= cached_bytes_max; }
  Status MakeRoom() { return HasRoom() ? Status() : spill(); }
};

}  // namespace flint
