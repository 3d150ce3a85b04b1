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

// While one lives, whoever forks this process waits: for work on what all of its threads share
// (RocksDB's own locks and threads among it), of which a child must not get a copy in the middle of
// a change, and for 20 ms more, until threads that were started have settled. Any number may live
// at a time. Its thread must neither fork nor wait for Python's lock meanwhile, which a forking
// thread may have.
class NoFork {
 public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

}  // namespace flint
