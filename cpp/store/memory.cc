#include "store/memory.h"

#include <rocksdb/advanced_cache.h>
#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "base/fork.h"

namespace flint {
namespace {

std::mutex shared_mutex;
// Never destroyed: threads may go on while the process ends.
std::weak_ptr<MemoryBudget>& shared_budget = *new std::weak_ptr<MemoryBudget>();
uint64_t shared_generation = 0;  // ForkGeneration() of the process whose budget it is

constexpr uint64_t kMemtableBytesMin = 512ull << 10;
constexpr uint64_t kMemtableBytesMax = 64ull << 20;

}  // namespace

Result<std::shared_ptr<MemoryBudget>> MemoryBudget::Share(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(shared_mutex);
  if (shared_generation != ForkGeneration()) shared_budget.reset();
  shared_generation = ForkGeneration();
  if (auto budget = shared_budget.lock()) {
    if (bytes == 0 || bytes == budget->bytes()) return budget;
    return Status::Invalid("memory: the open stores of this process were promised " +
                           std::to_string(budget->bytes()) + " bytes, and " +
                           std::to_string(bytes) +
                           " is another promise: leave memory out to share theirs, or close them");
  }
  if (bytes == 0) bytes = kDefaultBytes;
  if (bytes < kBytesMin) {
    return Status::Invalid("memory: " + std::to_string(bytes) +
                           " bytes are too few: give at least " + std::to_string(kBytesMin));
  }
  auto budget = std::make_shared<MemoryBudget>(bytes);
  shared_budget = budget;
  return budget;
}

MemoryBudget::MemoryBudget(uint64_t bytes) : bytes_(bytes) {
  cache_ = rocksdb::HyperClockCacheOptions(bytes, /*_estimated_entry_charge=*/0).MakeSharedCache();
  // Memtables are charged to the cache, so that both together stay within the one figure.
  write_buffers_ = std::make_shared<rocksdb::WriteBufferManager>(bytes / 2, cache_);
}

uint64_t MemoryBudget::memtable_bytes() const {
  return std::clamp(bytes_ / 8, kMemtableBytesMin, kMemtableBytesMax);
}

uint64_t MemoryBudget::used_bytes() const { return cache_->GetUsage(); }

}  // namespace flint
