#pragma once

#include <atomic>
#include <cstdint>

namespace flint {

namespace internal {
extern std::atomic<uint64_t> fork_generation;
}

// How many forks lie between the process that loaded this library and this one. What is not made
// for a forked child (open databases, threads) remembers the generation in which it was made and
// refuses to work in a later one. Costs a plain load, unlike asking for the process id.
inline uint64_t ForkGeneration() {
  return internal::fork_generation.load(std::memory_order_relaxed);
}

}  // namespace flint
