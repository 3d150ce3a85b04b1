#pragma once

#include <cstdint>

namespace flint {

// How many forks lie between the process that loaded this library and this one. What is not made
// for a forked child (open databases, threads) remembers the generation in which it was made and
// refuses to work in a later one. Costs a plain load, unlike asking for the process id.
uint64_t ForkGeneration();

}  // namespace flint
