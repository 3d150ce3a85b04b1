#include "base/fork.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace flint {

std::atomic<uint64_t> internal::fork_generation{0};

namespace {

using Clock = std::chrono::steady_clock;

// RocksDB's timer is a thread that begins when a database is open, with a lock of the whole
// process.
constexpr auto kSettling = std::chrono::milliseconds(20);

std::mutex mutex;  // guards what follows; held by a thread that forks
int no_forks = 0;
Clock::time_point settled;
// Threads that go on while the process ends may still come here: it is never destroyed.
std::condition_variable& none_left = *new std::condition_variable();

void BeforeFork() {
  std::unique_lock<std::mutex> lock(mutex);
  none_left.wait(lock, [] { return no_forks == 0; });
  std::this_thread::sleep_until(settled);
  lock.release();
}

void AfterForkInParent() { mutex.unlock(); }

void AfterForkInChild() {
  internal::fork_generation.fetch_add(1, std::memory_order_relaxed);
  mutex.unlock();
}

[[maybe_unused]] const int registered =
    pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);

}  // namespace

NoFork::NoFork() {
  std::lock_guard<std::mutex> lock(mutex);
  ++no_forks;
}

NoFork::~NoFork() {
  std::lock_guard<std::mutex> lock(mutex);
  settled = Clock::now() + kSettling;
  if (--no_forks == 0) none_left.notify_all();
}

}  // namespace flint
