#include "base/brief_lock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace flint {
namespace {

TEST(BriefLockTest, OneThreadAtATimeHasIt) {
  BriefLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        std::lock_guard held(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80'000);
}

TEST(BriefLockTest, ATakenLockIsNotHadAtOnce) {
  BriefLock lock;
  lock.lock();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(BriefLockTest, WhoWaitsForLongGetsItInTheEnd) {
  BriefLock lock;
  int value = 0;
  lock.lock();
  std::thread other([&] {
    std::lock_guard held(lock);
    EXPECT_EQ(value, 1);
    value = 2;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  value = 1;
  lock.unlock();
  other.join();
  EXPECT_EQ(value, 2);
}

TEST(BriefLockTest, WhoHasItAlmostAlwaysAndLetsOthersGoFirstDoesNotKeepThemOut) {
  BriefLock lock;
  bool done = false;
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) std::lock_guard held(lock);
    std::lock_guard held(lock);
    done = true;
  });
  bool seen = false;
  while (!seen) {
    lock.LetOthersGoFirst();
    std::lock_guard held(lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seen = done;
  }
  other.join();
}

}  // namespace
}  // namespace flint
