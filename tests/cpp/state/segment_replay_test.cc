#include "state/segment_replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/arrow_builder.h"
#include "changelog/writer.h"
#include "store/batch_encoder.h"
#include "store/store.h"

namespace flint {
namespace {

using changelog::Operation;

class SegmentReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "flint_replay_XXXXXX";
    home_ = ::mkdtemp(pattern.data());
    DatabaseOptions options;
    options.families.resize(2);
    options.families[0].name = "one";
    options.families[1].name = "two";
    database_ = *Database::Open(home_ + "/db", options);
    target_.database = database_.get();
    target_.tables = {{1, *database_->FindFamily("one")}, {2, *database_->FindFamily("two")}};
    writer_ = *changelog::Writer::Create(home_ + "/log", {});
  }
  void TearDown() override { std::filesystem::remove_all(home_); }

  void Log(Operation operation, uint32_t table, const std::string& key, const std::string& value) {
    ASSERT_TRUE(writer_->Append({0, operation, 0, table, key, value}).ok());
  }
  Status Replay(changelog::ReadOptions options = {}) {
    EXPECT_TRUE(writer_->Close(changelog::Durability::kProcess).ok());
    auto reader = changelog::Reader::Open(home_ + "/log", options);
    return ReplaySegment(reader->get(), target_);
  }
  std::string Read(uint32_t table, const std::string& key) {
    rocksdb::PinnableSlice value;
    auto found = database_->Get(target_.tables[table], key, &value);
    return found.ok() && *found ? value.ToString() : "absent";
  }

  std::string home_;
  std::shared_ptr<Database> database_;
  std::unique_ptr<changelog::Writer> writer_;
  ReplayTarget target_;
};

TEST_F(SegmentReplayTest, TheTablesHoldWhatTheLogSays) {
  Log(Operation::kPut, 1, "b", "old");
  Log(Operation::kPut, 1, "a", "1");
  Log(Operation::kPut, 2, "a", "other");
  Log(Operation::kPut, 1, "b", "2");
  Log(Operation::kDelete, 1, "a", "");
  Log(Operation::kPut, 1, "c", "3");
  Log(Operation::kDeleteRange, 1, "c", "e");
  Log(Operation::kPut, 1, "d", "4");
  ASSERT_TRUE(Replay().ok());
  EXPECT_EQ(Read(1, "a"), "absent");
  EXPECT_EQ(Read(1, "b"), "2");
  EXPECT_EQ(Read(1, "c"), "absent");
  EXPECT_EQ(Read(1, "d"), "4");
  EXPECT_EQ(Read(2, "a"), "other");
}

TEST_F(SegmentReplayTest, TheMarkIsWrittenWithWhatItSpeaksOf) {
  Log(Operation::kPut, 1, "a", "1");
  Log(Operation::kPut, 1, "b", "2");
  target_.mark = [&](uint64_t last, rocksdb::WriteBatch* batch) {
    EXPECT_TRUE(batch->Put(target_.tables[2], "mark", std::to_string(last)).ok());
    return Status();
  };
  ASSERT_TRUE(Replay().ok());
  EXPECT_EQ(Read(2, "mark"), "2");
}

TEST_F(SegmentReplayTest, AReplayGoesOnAfterWhatTheMarkSays) {
  Log(Operation::kPut, 1, "a", "1");
  Log(Operation::kPut, 1, "b", "2");
  changelog::ReadOptions options;
  options.from_sequence = 2;
  ASSERT_TRUE(Replay(options).ok());
  EXPECT_EQ(Read(1, "a"), "absent");
  EXPECT_EQ(Read(1, "b"), "2");
}

TEST_F(SegmentReplayTest, MetadataIsHandedOver) {
  Log(Operation::kMetadata, 0, "owner", "me");
  std::string seen;
  target_.metadata = [&](const changelog::Record& record, rocksdb::WriteBatch*) {
    seen = std::string(record.key) + "=" + std::string(record.value);
    return Status();
  };
  ASSERT_TRUE(Replay().ok());
  EXPECT_EQ(seen, "owner=me");
}

TEST_F(SegmentReplayTest, WhatRocksDbCouldNotApplyIsNotWrittenToItsLog) {
  Log(Operation::kPut, 1, "a", "1");
  Log(Operation::kDeleteRange, 1, "c", "b");
  Status status = Replay();
  EXPECT_EQ(status.kind(), ErrorKind::kCorruption);
  EXPECT_NE(status.message().find("record 2"), std::string::npos);
  EXPECT_EQ(Read(1, "a"), "absent");
  EXPECT_TRUE(database_->Put(target_.tables[1], "a", "2").ok());
}

TEST_F(SegmentReplayTest, AMergeIntoATableThatHasNoneIsRefused) {
  Log(Operation::kMerge, 1, "a", "1");
  EXPECT_EQ(Replay().kind(), ErrorKind::kCorruption);
  EXPECT_TRUE(database_->Put(target_.tables[1], "a", "2").ok());
}

TEST_F(SegmentReplayTest, ATableThatIsNotKnownIsNamed) {
  Log(Operation::kPut, 9, "a", "1");
  Status status = Replay();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalid);
  EXPECT_NE(status.message().find("table 9"), std::string::npos);
  EXPECT_NE(status.message().find(home_ + "/log"), std::string::npos);
}

// Two columns, as a batch of a store's table.
class Clicks {
 public:
  Clicks() {
    for (const auto& [user, clicks] : {std::pair("eve", 3), {"ada", 1}, {"bob", 2}, {"ada", 4}}) {
      builder_.column(0).AppendBytes(user);
      builder_.column(1).Append<int64_t>(clicks);
    }
    rows_ = builder_.Finish(4);
  }
  static Schema Columns() {
    return {{{"user", DataType(TypeId::kString), false}, {"clicks", DataType(TypeId::kInt64)}}};
  }
  static TableDefinition Table() {
    TableDefinition definition;
    definition.name = "clicks";
    definition.key.resize(1);
    definition.key[0].field = Columns()[0];
    definition.value.fields = {Columns()[1]};
    return definition;
  }
  BatchView view() const { return *BatchView::Make(Columns(), *rows_); }

 private:
  BatchBuilder builder_{Columns()};
  OwnedArray rows_;
};

TEST_F(SegmentReplayTest, AStoresTableAnswersWithWhatWasLogged) {
  std::shared_ptr<Store> store = *Store::Open(home_ + "/store", {});
  std::shared_ptr<Table> table = *store->OpenTable(Clicks::Table());
  Clicks clicks;
  BatchEncoder encoder(table->shared_schema());
  BatchView batch = clicks.view();
  ASSERT_TRUE(encoder.Begin(batch, BatchUse::kPut).ok());
  ASSERT_TRUE(encoder.NextPiece(PieceOrder::kAsGiven).ok());
  for (size_t i = 0; i < encoder.size(); ++i) {
    Log(Operation::kPut, 7, std::string(encoder.key(i)), std::string(encoder.row(i)));
  }
  target_.database = &store->database();
  target_.tables = {{7, table->family()}};
  ASSERT_TRUE(Replay().ok());

  Result<OwnedArray> found = table->GetMany(batch, {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  const int64_t* values = static_cast<const int64_t*>((*found)->children[1]->buffers[1]);
  EXPECT_EQ(std::vector<int64_t>(values, values + 4), (std::vector<int64_t>{3, 4, 2, 4}));
}

}  // namespace
}  // namespace flint
