#pragma once

#include <chrono>

#include "base/status.h"

namespace flint {

// How a long call learns that its caller wants it to end (somebody pressed Ctrl-C). Who can tell
// opens a scope around the call, on the thread that makes it; long work asks CheckInterrupt between
// two pieces, where leaving is safe, and leaves as with any other error. Helpers are not in their
// caller's scope: they end because the call that they help does.
class InterruptScope {
 public:
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 protected:
  InterruptScope();
  ~InterruptScope();
  // Whether to end. Asked on the scope's thread, kEvery apart at least, and not before that.
  virtual bool Asked() = 0;

 private:
  friend Status CheckInterrupt();
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{50};

  InterruptScope* const outer_;
  Clock::time_point next_{};
  bool ended_ = false;
};

// Ok, or that the work of this thread is to end: its innermost scope was told so. Takes no lock and
// costs some 20 ns: for every few hundred rows, not for each.
Status CheckInterrupt();

}  // namespace flint
