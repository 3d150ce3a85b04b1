#include "base/fork.h"

#include <pthread.h>

#include <atomic>

namespace flint {
namespace {

std::atomic<uint64_t> generation{0};

void CountFork() { generation.fetch_add(1, std::memory_order_relaxed); }

const int registered = pthread_atfork(nullptr, nullptr, CountFork);

}  // namespace

uint64_t ForkGeneration() {
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace flint
