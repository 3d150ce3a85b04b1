#include "base/helpers.h"

#include <system_error>
#include <utility>

namespace flint {

bool Task::Begin() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stage_ != Stage::kOffered) return false;
  stage_ = Stage::kRunning;
  return true;
}

bool Task::TryRun() {
  if (!Begin()) return false;
  std::exception_ptr thrown;
  try {
    work_();
  } catch (...) {
    thrown = std::current_exception();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  thrown_ = std::move(thrown);
  stage_ = Stage::kDone;
  ended_.notify_all();
  return true;
}

bool Task::done() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stage_ == Stage::kDone;
}

void Task::Wait() {
  TryRun();
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [this] { return stage_ == Stage::kDone; });
  if (thrown_) std::rethrow_exception(thrown_);
}

void Task::Cancel() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (stage_ == Stage::kOffered) stage_ = Stage::kDone;
  ended_.wait(lock, [this] { return stage_ == Stage::kDone; });
}

Helpers::~Helpers() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    offered_.notify_all();
  }
  for (std::thread& thread : running_) thread.join();
}

void Helpers::Offer(std::shared_ptr<Task> task) {
  std::lock_guard<std::mutex> lock(mutex_);
  tasks_.push_back(std::move(task));
  if (idle_ < tasks_.size() && static_cast<int>(running_.size()) + 1 < threads_) {
    try {
      running_.emplace_back([this] { Serve(); });
    } catch (const std::system_error&) {
      // The system has no thread to give: who waits for the task does it.
    }
  }
  if (running_.empty()) tasks_.clear();
  offered_.notify_one();
}

void Helpers::Serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_;
    offered_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (stopping_) return;
    std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task->TryRun();
    task.reset();
    lock.lock();
  }
}

void Helpers::Share(size_t parts, const std::function<void(size_t)>& work) {
  std::vector<std::shared_ptr<Task>> tasks;
  std::exception_ptr thrown;
  // Nobody may be at `work` any more when this is left, whatever is thrown on the way.
  auto attempt = [&thrown](auto step) {
    try {
      step();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  attempt([&] {
    for (size_t part = 1; part < parts; ++part) {
      tasks.push_back(std::make_shared<Task>([&work, part] { work(part); }));
      Offer(tasks.back());
    }
  });
  attempt([&] {
    if (parts > 0) work(0);
  });
  // What a helper is at is not waited for as long as there is something to do.
  for (const auto& task : tasks) task->TryRun();
  for (const auto& task : tasks) attempt([&] { task->Wait(); });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace flint
