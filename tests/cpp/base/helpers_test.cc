#include "base/helpers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace flint {
namespace {

TEST(ATask, IsDoneOnceByWhoeverComesFirst) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> times{0};
    auto task = std::make_shared<Task>([&] { times.fetch_add(1); });
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([task] { task->Wait(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(task->done());
    EXPECT_FALSE(task->TryRun());
    EXPECT_EQ(times.load(), 1);
  }
}

TEST(ATask, ThrowsWhatItsWorkThrewAtWhoWaits) {
  Task task([] { throw std::runtime_error("no memory, say"); });
  EXPECT_TRUE(task.TryRun());
  EXPECT_THROW(task.Wait(), std::runtime_error);
  EXPECT_THROW(task.Wait(), std::runtime_error);
}

TEST(ATask, IsNeverBegunOnceItWasCancelled) {
  bool begun = false;
  Task task([&] { begun = true; });
  task.Cancel();
  EXPECT_FALSE(task.TryRun());
  task.Wait();
  EXPECT_FALSE(begun);
}

TEST(ATask, IsWaitedForByWhoCancelsItTooLate) {
  Helpers helpers(2);
  std::atomic<bool> begun{false}, ended{false};
  auto task = std::make_shared<Task>([&] {
    begun = true;
    std::this_thread::yield();
    ended = true;
  });
  helpers.Offer(task);
  while (!begun.load()) std::this_thread::yield();
  task->Cancel();
  EXPECT_TRUE(ended.load());
}

TEST(Helpers, ShareAllPartsWhateverTheirNumber) {
  for (int threads : {1, 2, 4}) {
    Helpers helpers(threads);
    for (size_t parts : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> times(parts);
      helpers.Share(parts, [&](size_t part) { times[part].fetch_add(1); });
      for (const auto& count : times) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(Helpers, ServeSeveralCallersAtOnce) {
  Helpers helpers(3);
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        helpers.Share(4, [&](size_t part) { sum.fetch_add(static_cast<int>(part)); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 100 * 6);
}

TEST(Helpers, LeaveOnlyWhatIsUnderWayToBeWaitedFor) {
  Helpers helpers(2);
  std::atomic<int> others{0};
  auto work = [&](size_t part) {
    if (part != 1) {
      others.fetch_add(1);
      return;
    }
    const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (others.load() < 5 && std::chrono::steady_clock::now() < soon) std::this_thread::yield();
    EXPECT_EQ(others.load(), 5);
  };
  helpers.Share(6, work);
}

TEST(Helpers, EndAllPartsBeforeAnErrorOfOneComesOut) {
  Helpers helpers(2);
  std::atomic<int> ended{0};
  auto work = [&](size_t part) {
    if (part == 0) throw std::runtime_error("the first");
    ended.fetch_add(1);
  };
  EXPECT_THROW(helpers.Share(5, work), std::runtime_error);
  EXPECT_EQ(ended.load(), 4);
}

TEST(Helpers, LeaveTasksThatTheyDidNotBeginToWhoWaits) {
  std::atomic<int> done{0};
  std::vector<std::shared_ptr<Task>> tasks;
  {
    Helpers helpers(2);
    for (int i = 0; i < 100; ++i) {
      tasks.push_back(std::make_shared<Task>([&] { done.fetch_add(1); }));
      helpers.Offer(tasks.back());
    }
  }
  for (const auto& task : tasks) task->Wait();
  EXPECT_EQ(done.load(), 100);
}

}  // namespace
}  // namespace flint
