#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace flint {
namespace {

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "flint_file_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
};

TEST_F(FileTest, WhatIsAppendedIsReadBack) {
  Result<AppendFile> file = AppendFile::Create(Path("log"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Append("hello ").ok());
  ASSERT_TRUE(file->Append("world").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(file->size(), 11u);
  ASSERT_TRUE(file->Close().ok());

  Result<ReadFile> back = ReadFile::Open(Path("log"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->size(), 11u);
  std::string bytes;
  ASSERT_TRUE(back->Read(6, 3, &bytes).ok());
  EXPECT_EQ(bytes, "wor");
}

TEST_F(FileTest, PiecesAreAppendedInOrder) {
  Result<AppendFile> file = AppendFile::Create(Path("log"));
  ASSERT_TRUE(file.ok());
  std::string large(100'000, 'x');
  std::vector<std::string_view> pieces = {"a", "", large, "b"};
  ASSERT_TRUE(file->Append(pieces).ok());
  ASSERT_TRUE(file->Append(pieces).ok());
  EXPECT_EQ(file->size(), 2 * (large.size() + 2));
  std::string bytes;
  ASSERT_TRUE(ReadFile::Open(Path("log"))->Read(0, 1 << 20, &bytes).ok());
  EXPECT_EQ(bytes, "a" + large + "ba" + large + "b");
}

TEST_F(FileTest, AReadPastTheEndIsShortAndNoError) {
  std::ofstream(Path("small")) << "abc";
  Result<ReadFile> file = ReadFile::Open(Path("small"));
  ASSERT_TRUE(file.ok());
  std::string bytes = "old";
  ASSERT_TRUE(file->Read(1, 100, &bytes).ok());
  EXPECT_EQ(bytes, "bc");
  ASSERT_TRUE(file->Read(50, 100, &bytes).ok());
  EXPECT_EQ(bytes, "");
}

TEST_F(FileTest, ANameIsWrittenOnce) {
  std::ofstream(Path("taken")) << "mine";
  Result<AppendFile> file = AppendFile::Create(Path("taken"));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().kind(), ErrorKind::kIO);
  EXPECT_NE(file.status().message().find(Path("taken")), std::string::npos);
}

TEST_F(FileTest, AMissingFileIsNotFoundByName) {
  Result<ReadFile> file = ReadFile::Open(Path("absent"));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().kind(), ErrorKind::kNotFound);
  EXPECT_NE(file.status().message().find("absent"), std::string::npos);
}

TEST_F(FileTest, AClosedFileRefusesMore) {
  Result<AppendFile> file = AppendFile::Create(Path("log"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(file->Append("x").kind(), ErrorKind::kClosed);
  EXPECT_EQ(file->Sync().kind(), ErrorKind::kClosed);
  EXPECT_TRUE(file->Close().ok());
}

TEST_F(FileTest, AMovedFileGoesOnWhereItWas) {
  Result<AppendFile> first = AppendFile::Create(Path("log"));
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first->Append("a").ok());
  AppendFile second = *std::move(first);
  ASSERT_TRUE(second.Append("b").ok());
  EXPECT_EQ(second.size(), 2u);
}

TEST_F(FileTest, AFailedAppendPoisonsTheFile) {
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  Result<AppendFile> file = AppendFile::Create(Path("log"));
  ASSERT_TRUE(file.ok());
  struct rlimit tiny = before;
  tiny.rlim_cur = 4;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  std::vector<std::string_view> pieces = {"more", " than", " four bytes"};
  Status failed = file->Append(pieces);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.kind(), ErrorKind::kIO);
  EXPECT_EQ(std::filesystem::file_size(Path("log")), 4u);
  EXPECT_EQ(file->Append("x").message(), failed.message());
  EXPECT_EQ(file->Sync().message(), failed.message());
  EXPECT_EQ(file->Close().message(), failed.message());
}

uint64_t BytesOnDevice(const std::string& path) {
  struct stat about;
  EXPECT_EQ(::stat(path.c_str(), &about), 0);
  return static_cast<uint64_t>(about.st_blocks) * 512;
}

TEST_F(FileTest, AClosedFileTakesNoMoreRoomThanItNeeds) {
  Result<AppendFile> file = AppendFile::Create(Path("log"));
  std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(file->Append(megabyte).ok());
  EXPECT_EQ(std::filesystem::file_size(Path("log")), 5u << 20);
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(std::filesystem::file_size(Path("log")), 5u << 20);
  EXPECT_LE(BytesOnDevice(Path("log")), (5u << 20) + (64u << 10));
}

TEST_F(FileTest, AFileThatWasNotClosedTakesAtMostTwiceItsLength) {
  std::string megabyte(1 << 20, 'x');
  {
    Result<AppendFile> file = AppendFile::Create(Path("log"));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(file->Append(megabyte).ok());
    ASSERT_TRUE(file->Sync().ok());
  }
  EXPECT_EQ(std::filesystem::file_size(Path("log")), 5u << 20);
  EXPECT_LE(BytesOnDevice(Path("log")), (10u << 20) + (64u << 10));
}

TEST_F(FileTest, AForkedChildThatClosesTheFileLeavesWhatItsParentWrites) {
  Result<AppendFile> file = AppendFile::Create(Path("log"));
  std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file->Append(megabyte).ok());
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    char go;
    bool closed = ::read(ready[0], &go, 1) == 1 && file->Close().ok();
    ::_exit(closed ? 0 : 1);
  }
  ASSERT_TRUE(file->Append(megabyte).ok());
  ASSERT_EQ(::write(ready[1], "x", 1), 1);
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(std::filesystem::file_size(Path("log")), 4u << 20);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FileTest, DirectoriesAndFilesCanBeSyncedByName) {
  std::ofstream(Path("data")) << "abc";
  EXPECT_TRUE(SyncFile(Path("data")).ok());
  EXPECT_TRUE(SyncDirectory(directory_).ok());
  EXPECT_FALSE(SyncDirectory(Path("data")).ok());
  EXPECT_EQ(SyncFile(Path("absent")).kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace flint
