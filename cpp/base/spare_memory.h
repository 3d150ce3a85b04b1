#pragma once

#include <cstddef>

namespace flint {

// Memory of Arrow buffers, 64-byte aligned. Large blocks that were given back are kept for the next
// ones, up to kSpareBytesMax in the process: batches come and go, and memory that is fresh from
// the system costs a page fault for each 4 KB. Thread-safe, and safe in a forked child.
inline constexpr size_t kSpareBytesMax = 32 << 20;

struct MemoryBlock {
  char* data = nullptr;
  size_t size = 0;
};

// At least `size` bytes, not set. Throws std::bad_alloc.
MemoryBlock TakeMemory(size_t size);
// Takes a block back that TakeMemory gave; one without data does no harm.
void GiveMemory(MemoryBlock block);

}  // namespace flint
