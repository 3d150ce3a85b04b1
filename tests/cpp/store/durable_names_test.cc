// What is synced, as the system hears of it: this program's fsync is the one below.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>

#include "store/checkpoint.h"
#include "store/database.h"

#if defined(__linux__)

namespace {

std::mutex synced_mutex;
std::set<std::string> synced_paths;

}  // namespace

extern "C" int fsync(int fd) {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  std::lock_guard<std::mutex> lock(synced_mutex);
  synced_paths.insert(path.string());
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace flint {
namespace {

TEST(DurableNamesTest, NewDirectoriesAreSyncedInTheirParents) {
  std::string pattern = testing::TempDir() + "flint_names_XXXXXX";
  const std::string home = ::mkdtemp(pattern.data());
  auto database = Database::Open(home + "/a/b/store", {});
  ASSERT_TRUE(database.ok()) << database.status().message();
  ASSERT_TRUE(MakeCheckpoint(**database, home + "/c/d/copy").ok());
  ASSERT_TRUE((*database)->Close().ok());
  for (const char* parent : {"", "/a", "/a/b", "/c", "/c/d"}) {
    EXPECT_TRUE(synced_paths.contains(home + parent)) << home << parent;
  }
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace flint

#endif
