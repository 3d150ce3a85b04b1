#include "base/brief_lock.h"

#include <chrono>
#include <thread>

namespace flint {
namespace {

constexpr int kYields = 100;
constexpr std::chrono::microseconds kNap{200};

}  // namespace

void BriefLock::LockLater() {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  for (int tries = 0; taken_.load(std::memory_order_relaxed) || !try_lock(); ++tries) {
    if (tries < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void BriefLock::LetOthersGoFirst() {
  if (waiting_.load(std::memory_order_relaxed) > 0) std::this_thread::sleep_for(3 * kNap);
}

}  // namespace flint
