#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace flint {

// A piece of work that is done once, by a helper or by whoever waits for it. Thread-safe.
class Task {
 public:
  explicit Task(std::function<void()> work) : work_(std::move(work)) {}

  // Does the work here and now, unless somebody has begun it.
  bool TryRun();
  // Whether it is done: Wait would not wait.
  bool done() const;
  // Returns once the work is done, by this thread if nobody has begun it. Throws what it threw.
  void Wait();
  // Returns once nobody is at it and nobody will ever begin it.
  void Cancel();

 private:
  enum class Stage { kOffered, kRunning, kDone };
  bool Begin();

  std::function<void()> work_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  Stage stage_ = Stage::kOffered;
  std::exception_ptr thrown_;
};

// Threads that lend a hand to calls which can use more than their own. Nothing depends on them:
// whoever waits for a task does it where no helper has come to it yet, so that work goes on
// without threads, and while helpers are busy elsewhere. They start when they are first needed.
// Thread-safe; not for a forked child, which must not destroy it either.
class Helpers {
 public:
  // `threads`: how many one call may keep busy, the caller's own among them.
  explicit Helpers(int threads) : threads_(threads) {}
  ~Helpers();  // Waits for tasks under way; those that were not begun are left to who waits.
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  int threads() const { return threads_; }
  void Offer(std::shared_ptr<Task> task);
  // Runs work(0) .. work(parts - 1), side by side as far as there are threads.
  void Share(size_t parts, const std::function<void(size_t)>& work);

 private:
  void Serve();

  const int threads_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable offered_;
  std::deque<std::shared_ptr<Task>> tasks_;
  std::vector<std::thread> running_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace flint
