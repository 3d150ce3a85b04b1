#include "state/backend_fixture.h"

namespace flint {
namespace {

class CommitTest : public BackendTest {
 protected:
  CommitTest() { options_.changelog = true; }

  PointTable* OpenValue(const std::string& name) {
    return BackendTest::OpenValue(name, {}, TypeId::kBinary);
  }
  void Put(PointTable* table, const std::string& key, const std::string& value) {
    BackendTest::Put(table, key, BytesRow(value));
  }
  std::string Get(PointTable* table, const std::string& key) {
    std::string row = BackendTest::Get(table, key);
    return row.starts_with('\0') ? row.substr(1) : row;
  }
};

TEST_F(CommitTest, ASegmentHoldsWhatChangedSinceTheLastCommitAndNoMore) {
  Open();
  PointTable* count = OpenValue("count");
  for (int i = 0; i < 100; ++i) Put(count, std::to_string(i), "a");
  Put(count, "7", "b");
  ASSERT_TRUE(Commit(1));
  EXPECT_EQ(segments_[1].records.size(), 101u);  // and the state's description
  EXPECT_EQ(segments_[1].first, 1u);
  Put(count, "7", "c");
  Clear(count, "8");
  ASSERT_TRUE(Commit(2));
  EXPECT_EQ(segments_[2].records.size(), 2u);
  EXPECT_EQ(segments_[2].first, 102u);
  EXPECT_EQ(segments_[2].its_parent, Version(1));
}

TEST_F(CommitTest, WithoutAChangeNothingIsWrittenAndTheVersionStays) {
  Open();
  PointTable* count = OpenValue("count");
  EXPECT_FALSE(Commit(1));
  Put(count, "a", "1");
  ASSERT_TRUE(Commit(2));
  EXPECT_EQ(Get(count, "a"), "1");
  EXPECT_FALSE(Commit(3));
  EXPECT_EQ(backend_->commit_point().version, Version(2));
  EXPECT_FALSE(segments_.contains(3));
}

TEST_F(CommitTest, ReplayBringsAnotherDirectoryToTheSameVersion) {
  Open();
  PointTable* count = OpenValue("count");
  Put(count, "a", "1");
  Put(count, "b", "1");
  Commit(1);
  Clear(count, "a");
  Put(OpenValue("name"), "b", "x");
  Commit(2);
  CommitPoint live = backend_->commit_point();
  Open("copy");
  ASSERT_TRUE(Replay(1).ok());
  ASSERT_TRUE(Replay(2).ok());
  EXPECT_EQ(backend_->commit_point(), live);
  EXPECT_EQ(Get(OpenValue("count"), "a"), "none");
  EXPECT_EQ(Get(OpenValue("count"), "b"), "1");
  EXPECT_EQ(Get(OpenValue("name"), "b"), "x");
}

TEST_F(CommitTest, StatesThatNobodyOpenedAreKeptAndRefuseAnotherKind) {
  Open();
  Put(OpenValue("count"), "a", "1");
  Commit(1);
  Open("copy");
  ASSERT_TRUE(Replay(1).ok());
  EXPECT_FALSE(backend_->OpenState(Describe("count", StateKind::kMap), {}).ok());
  Put(OpenValue("other"), "a", "2");
  Commit(2);
  ASSERT_TRUE(backend_->Close().ok());
  Open("copy");
  EXPECT_EQ(Get(OpenValue("count"), "a"), "1");
  EXPECT_EQ(Get(OpenValue("other"), "a"), "2");
}

TEST_F(CommitTest, ASegmentThatDoesNotFollowIsRefused) {
  Open();
  PointTable* count = OpenValue("count");
  Put(count, "a", "1");
  Commit(1);
  Put(count, "a", "2");
  Commit(2);
  EXPECT_EQ(Replay(2).kind(), ErrorKind::kInvalid);
  Open("copy");
  EXPECT_EQ(Replay(2).kind(), ErrorKind::kInvalid);
}

TEST_F(CommitTest, ACommitThatDoesNotFollowWhatStandsIsRefusedAndHarmless) {
  Open();
  PointTable* count = OpenValue("count");
  Put(count, "a", "1");
  EXPECT_EQ(backend_->Commit(After(Version(8), 9)).status().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(Commit(1));
  EXPECT_EQ(Get(count, "a"), "1");
}

TEST_F(CommitTest, WhatLeftTheCacheBeforeTheCommitIsInTheSegmentToo) {
  options_.cache_bytes = 5000;
  Open();
  PointTable* count = OpenValue("count");
  for (int i = 0; i < 2000; ++i) Put(count, std::to_string(i % 500), std::to_string(i));
  EXPECT_TRUE(backend_->commit_point().between);
  ASSERT_TRUE(Commit(1));
  EXPECT_FALSE(backend_->commit_point().between);
  Open("copy");
  ASSERT_TRUE(Replay(1).ok());
  count = OpenValue("count");
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(Get(count, std::to_string(i)), std::to_string(1500 + i));
  }
}

TEST_F(CommitTest, WhatIsSpilledIsLoggedInItsOrderAndLeavesNoFileBehind) {
  options_.cache_bytes = 5000;
  Open();
  PointTable* count = OpenValue("count");
  for (int i = 0; i < 300; ++i) Put(count, std::to_string(i), "old");
  for (int i = 0; i < 300; ++i) Clear(count, std::to_string(i));
  for (int i = 0; i < 300; i += 3) Put(count, std::to_string(i), "new");
  OpenValue("opened late");
  EXPECT_TRUE(std::filesystem::exists(Path("live/uncommitted")));
  ASSERT_TRUE(Commit(1));
  EXPECT_FALSE(std::filesystem::exists(Path("live/uncommitted")));
  Put(count, "0", "newer");
  ASSERT_TRUE(backend_->Spill().ok());
  ASSERT_TRUE(Commit(2));
  EXPECT_EQ(segments_[2].records.size(), 1u);
  Open("copy");
  ASSERT_TRUE(Replay(1).ok() && Replay(2).ok());
  count = OpenValue("count");
  EXPECT_EQ(Get(count, "0"), "newer");
  EXPECT_EQ(Get(count, "3"), "new");
  EXPECT_EQ(Get(count, "4"), "none");
}

TEST_F(CommitTest, FilesThatWereLeftBetweenTwoVersionsSaySo) {
  Open();
  PointTable* count = OpenValue("count");
  Put(count, "a", "1");
  Commit(1);
  Put(count, "a", "2");
  ASSERT_TRUE(backend_->Spill().ok());
  ASSERT_TRUE(backend_->Close().ok());
  Open();
  EXPECT_TRUE(backend_->commit_point().between);
  Put(OpenValue("count"), "a", "3");
  EXPECT_EQ(backend_->Commit(After(Version(1), 2)).status().kind(), ErrorKind::kInvalid);
}

TEST_F(CommitTest, WithoutAFlushOnCloseTheFilesStandAtTheirLastFlush) {
  options_.flush_on_close = false;
  Open();
  PointTable* count = OpenValue("count");
  Put(count, "a", "1");
  Commit(1);
  ASSERT_TRUE(backend_->Checkpoint(Path("checkpoint")).ok());
  Put(count, "a", "2");
  Commit(2);
  ASSERT_TRUE(backend_->Close().ok());
  Open();
  EXPECT_EQ(backend_->commit_point().version, Version(1));
  ASSERT_TRUE(Replay(2).ok());
  EXPECT_EQ(Get(OpenValue("count"), "a"), "2");
  Open("checkpoint");
  EXPECT_EQ(backend_->commit_point().version, Version(1));
  EXPECT_EQ(Get(OpenValue("count"), "a"), "1");
}

TEST_F(CommitTest, AfterAFailedCommitTheBackendIsPoisonedAndOpensAtTheFormerVersion) {
  Open();
  PointTable* count = OpenValue("count");
  Put(count, "a", "1");
  Commit(1);
  Put(count, "a", "2");
  EXPECT_EQ(backend_->Commit(After(Version(1), 2, /*broken=*/true)).status().kind(),
            ErrorKind::kIO);
  EXPECT_EQ(Get(count, "a").substr(0, 6), "error:");
  EXPECT_EQ(backend_->Commit(After(Version(1), 2)).status().kind(), ErrorKind::kIO);
  ASSERT_TRUE(backend_->Close().ok());
  Open();
  EXPECT_EQ(backend_->commit_point().version, Version(1));
  EXPECT_EQ(Get(OpenValue("count"), "a"), "1");
}

TEST_F(CommitTest, AReplayPassesOverOtherKeyGroups) {
  Open();
  PointTable* count = OpenValue("count");
  for (int i = 0; i < 1000; ++i) Put(count, std::to_string(i), "a");
  Commit(1);
  options_.first_group = 10;
  options_.last_group = 20;
  Open("part");
  ASSERT_TRUE(Replay(1).ok());
  count = OpenValue("count");
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!backend_->Locate(Encoded(std::to_string(i))).ok()) continue;
    EXPECT_EQ(Get(count, std::to_string(i)), "a");
    ++found;
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace flint
