#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

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
  Status failed = file->Append("more than four bytes");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.kind(), ErrorKind::kIO);
  EXPECT_EQ(file->Append("x").message(), failed.message());
  EXPECT_EQ(file->Sync().message(), failed.message());
  EXPECT_EQ(file->Close().message(), failed.message());
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
