#include "base/spare_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace flint {
namespace {

constexpr size_t kLarge = 1 << 20;

TEST(SpareMemory, IsAlignedAndLargeEnoughWhateverWasGivenBefore) {
  std::vector<MemoryBlock> blocks;
  for (size_t size : {size_t{1}, size_t{100}, size_t{200'000}, kLarge, kLarge + 1, 40 * kLarge}) {
    for (int round = 0; round < 3; ++round) {
      MemoryBlock block = TakeMemory(size);
      EXPECT_GE(block.size, size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 64, 0u);
      std::memset(block.data, round, block.size);
      blocks.push_back(block);
    }
    for (; blocks.size() > 1; blocks.pop_back()) GiveMemory(blocks.back());
  }
  GiveMemory(blocks[0]);
  GiveMemory({});
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(SpareMemory, KeepsLargeBlocksForTheNext) {
  const MemoryBlock block = TakeMemory(kLarge);
  GiveMemory(block);
  const MemoryBlock again = TakeMemory(kLarge - 1000);
  EXPECT_EQ(again.data, block.data);
  EXPECT_EQ(again.size, block.size);
  GiveMemory(again);
}

TEST(SpareMemory, IsNotWastedOnMuchSmallerOnes) {
  const MemoryBlock block = TakeMemory(3 * kLarge);
  GiveMemory(block);
  const MemoryBlock small = TakeMemory(kLarge);
  EXPECT_NE(small.data, block.data);
  EXPECT_LT(small.size, 2 * kLarge);
  GiveMemory(small);
}
#endif

TEST(SpareMemory, IsNeverGivenToTwo) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int round = 0; round < 500; ++round) {
        const MemoryBlock block = TakeMemory(kLarge / 4 + static_cast<size_t>(round));
        block.data[0] = block.data[block.size - 1] = static_cast<char>(thread);
        std::this_thread::yield();
        EXPECT_EQ(block.data[0], static_cast<char>(thread));
        EXPECT_EQ(block.data[block.size - 1], static_cast<char>(thread));
        GiveMemory(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flint
