#include "base/fork.h"

#include <pthread.h>

namespace flint {

std::atomic<uint64_t> internal::fork_generation{0};

namespace {

void CountFork() { internal::fork_generation.fetch_add(1, std::memory_order_relaxed); }

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, CountFork);

}  // namespace
}  // namespace flint
