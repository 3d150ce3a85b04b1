#pragma once

#include <atomic>

namespace flint {

// A lock for work of nanoseconds that several threads seldom want at once: it is given back by a
// plain store, and costs half of what a std::mutex does. Whoever finds it taken asks again, at
// first at once, and then every fifth of a millisecond: it may be held for long, too. Nobody is
// woken, so it is not fair: who takes it for long, again and again, has to let others go first.
class BriefLock {
 public:
  void lock() {
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      LockLater();
  }
  bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() { taken_.store(false, std::memory_order_release); }

  // Gives those who wait for it by now the time to take it, where the caller does not have it.
  void LetOthersGoFirst();

 private:
  void LockLater();

  std::atomic<bool> taken_{false};
  std::atomic<int> waiting_{0};
};

}  // namespace flint
