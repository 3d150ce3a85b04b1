#include "base/spare_memory.h"

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace flint {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLarge = 128 << 10;  // smaller ones malloc keeps by itself

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // what is freed is to be seen as freed
#else
constexpr bool kKeeps = true;
#endif

// A lock that is taken is not waited for: whoever held it may be gone with a fork.
std::mutex mutex;
std::array<MemoryBlock, 64> spares;
size_t spare_bytes = 0;

// The smallest spare that holds `size` and is not twice as large.
MemoryBlock TakeSpare(size_t size) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return {};
  MemoryBlock* best = nullptr;
  for (MemoryBlock& spare : spares) {
    if (spare.size < size || spare.size / 2 > size) continue;
    if (best == nullptr || spare.size < best->size) best = &spare;
  }
  if (best == nullptr) return {};
  spare_bytes -= best->size;
  return std::exchange(*best, {});
}

bool Keep(MemoryBlock block) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock() || spare_bytes + block.size > kSpareBytesMax) return false;
  for (MemoryBlock& spare : spares) {
    if (spare.data != nullptr) continue;
    spare = block;
    spare_bytes += block.size;
    return true;
  }
  return false;
}

}  // namespace

MemoryBlock TakeMemory(size_t size) {
  if (kKeeps && size >= kLarge) {
    if (MemoryBlock spare = TakeSpare(size); spare.data != nullptr) return spare;
  }
  size = (size + kAlignment - 1) / kAlignment * kAlignment;
  auto* data = static_cast<char*>(std::aligned_alloc(kAlignment, size));
  if (data == nullptr) throw std::bad_alloc();
  return {data, size};
}

void GiveMemory(MemoryBlock block) {
  if (kKeeps && block.size >= kLarge && Keep(block)) return;
  std::free(block.data);
}

}  // namespace flint
