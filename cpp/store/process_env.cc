#include "store/process_env.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>
#include <rocksdb/threadpool.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork.h"

namespace flint {
namespace {

// Threads of one priority. Thread-safe.
class Pool {
 public:
  void Schedule(void (*work)(void*), void* argument, void* tag, void (*dropped)(void*)) {
    uint64_t number;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      number = next_++;
      jobs_[number] = {work, argument, tag, dropped};
    }
    threads_->SubmitJob([this, number] { Run(number); });
  }

  // Drops what has this tag and was not begun; how many there were.
  int UnSchedule(void* tag) {
    std::map<uint64_t, Job> found;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (auto it = jobs_.begin(); it != jobs_.end();) {
        auto next = std::next(it);
        if (it->second.tag == tag) found.insert(jobs_.extract(it));
        it = next;
      }
    }
    for (auto& [number, job] : found) {
      if (job.dropped != nullptr) job.dropped(job.argument);
    }
    return static_cast<int>(found.size());
  }

  unsigned int waiting() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<unsigned int>(jobs_.size());
  }

  void GrowTo(int threads) {
    std::lock_guard<std::mutex> lock(mutex_);
    threads_->SetBackgroundThreads(std::max(threads, threads_->GetBackgroundThreads()));
  }

  rocksdb::ThreadPool& threads() { return *threads_; }

 private:
  struct Job {
    void (*work)(void*);
    void* argument;
    void* tag;
    void (*dropped)(void*);
  };

  void Run(uint64_t number) {
    std::map<uint64_t, Job>::node_type taken;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      taken = jobs_.extract(number);
    }
    if (taken) taken.mapped().work(taken.mapped().argument);
  }

  mutable std::mutex mutex_;  // guards what follows
  std::map<uint64_t, Job> jobs_;
  uint64_t next_ = 0;
  std::unique_ptr<rocksdb::ThreadPool> threads_{rocksdb::NewThreadPool(0)};
};

class Lock : public rocksdb::FileLock {
 public:
  explicit Lock(int fd) : fd_(fd) {}
  ~Lock() override { ::close(fd_); }  // which gives it up

 private:
  const int fd_;
};

class OwnEnv : public rocksdb::EnvWrapper {
 public:
  OwnEnv() : EnvWrapper(Env::Default()) {
    file_system_ = rocksdb::FileSystem::Default();
    system_clock_ = rocksdb::SystemClock::Default();
  }

  // The system's lock alone: DirectoryClaim sees to it that a process does not ask twice.
  rocksdb::Status LockFile(const std::string& path, rocksdb::FileLock** lock) override {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return rocksdb::Status::IOError("open " + path, std::strerror(errno));
    auto made = std::make_unique<Lock>(fd);
    struct flock wanted = {};
    wanted.l_type = F_WRLCK;
    wanted.l_whence = SEEK_SET;
    if (::fcntl(fd, F_SETLK, &wanted) != 0) {
      return rocksdb::Status::IOError("lock " + path, std::strerror(errno));
    }
    *lock = made.release();
    return rocksdb::Status::OK();
  }
  rocksdb::Status UnlockFile(rocksdb::FileLock* lock) override {
    delete lock;
    return rocksdb::Status::OK();
  }

  void Schedule(void (*work)(void*), void* argument, Priority priority, void* tag,
                void (*dropped)(void*)) override {
    pools_[priority].Schedule(work, argument, tag, dropped);
  }
  int UnSchedule(void* tag, Priority priority) override { return pools_[priority].UnSchedule(tag); }
  unsigned int GetThreadPoolQueueLen(Priority priority) const override {
    return pools_[priority].waiting();
  }
  int ReserveThreads(int count, Priority priority) override {
    return pools_[priority].threads().ReserveThreads(count);
  }
  int ReleaseThreads(int count, Priority priority) override {
    return pools_[priority].threads().ReleaseThreads(count);
  }
  void SetBackgroundThreads(int count, Priority priority) override {
    pools_[priority].threads().SetBackgroundThreads(count);
  }
  int GetBackgroundThreads(Priority priority) override {
    return pools_[priority].threads().GetBackgroundThreads();
  }
  void IncBackgroundThreadsIfNeeded(int count, Priority priority) override {
    pools_[priority].GrowTo(count);
  }

  void JoinThreads() {
    for (Pool& pool : pools_) pool.threads().JoinAllThreads();
  }

 private:
  std::array<Pool, Priority::TOTAL> pools_;
};

std::mutex mutex;
OwnEnv* current = nullptr;  // never destroyed, and a parent's left alone
uint64_t generation = 0;    // ForkGeneration() of the process whose it is

struct JoinAtExit {
  ~JoinAtExit() {
    if (generation == ForkGeneration()) current->JoinThreads();
  }
};

}  // namespace

rocksdb::Env* ProcessEnv() {
  std::lock_guard<std::mutex> lock(mutex);
  if (current == nullptr || generation != ForkGeneration()) {
    current = new OwnEnv();
    generation = ForkGeneration();
  }
  static const JoinAtExit joiner;  // made after, and so gone before, what RocksDB's threads need
  return current;
}

}  // namespace flint
