#include "changelog/replay.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "segment_fixture.h"

namespace flint::changelog {
namespace {

class ReplayTest : public SegmentFixture {
 protected:
  // Tables of string to string; what a store would hold.
  using Tables = std::map<uint32_t, std::map<std::string, std::string>>;

  static void ApplyTo(Tables* tables, const Record& record) {
    auto& table = (*tables)[record.table];
    std::string key(record.key), value(record.value);
    if (record.operation == Operation::kPut) table[key] = value;
    if (record.operation == Operation::kDelete) table.erase(key);
    if (record.operation == Operation::kMerge) table[key] += value;
    if (record.operation == Operation::kDeleteRange && key < value) {
      table.erase(table.lower_bound(key), table.lower_bound(value));
    }
  }

  class TableSink : public ReplaySink {
   public:
    Status Apply(const SortedBatch& batch) override {
      if (batches_ == fail_after_) return Status::IO("the sink is full");
      ++batches_;
      for (const Record& record : batch.records) ApplyTo(&tables_, record);
      last_sequence_ = batch.last_sequence;
      return Status();
    }
    Tables tables_;
    int batches_ = 0;
    int fail_after_ = -1;
    uint64_t last_sequence_ = 0;
  };

  Segment WriteRandom(int records, Tables* expected) {
    std::mt19937 random(7);
    WriterOptions options;
    options.batch_bytes = 1024;
    std::unique_ptr<Writer> writer = NewWriter("log", options);
    for (int i = 0; i < records; ++i) {
      std::string key = std::to_string(random() % 50), value = std::to_string(random() % 60);
      auto operation = static_cast<Operation>(random() % kOperations);
      if (operation == Operation::kDeleteRange && random() % 4 != 0) operation = Operation::kPut;
      if (!HasValue(operation)) value.clear();
      Record record{0, operation, 0, static_cast<uint32_t>(random() % 3), key, value};
      EXPECT_TRUE(writer->Append(record).ok());
      ApplyTo(expected, record);
    }
    return *writer->Close(Durability::kProcess);
  }
};

TEST_F(ReplayTest, SortedBatchesLeadWhereTheRecordsLead) {
  Tables expected;
  Segment segment = WriteRandom(20'000, &expected);
  TableSink sink;
  ASSERT_TRUE(Replay(Reader::Open(Path("log"))->get(), &sink).ok());
  EXPECT_EQ(sink.tables_, expected);
  EXPECT_EQ(sink.last_sequence_, segment.last_sequence());
  EXPECT_GT(sink.batches_, 10);
}

TEST_F(ReplayTest, RecordsComeSortedByTableAndKey) {
  std::unique_ptr<Writer> writer = NewWriter("log");
  for (const char* key : {"c", "a", "b", "a"}) {
    Append(*writer, {0, Operation::kPut, 0, 1, key, key});
  }
  Append(*writer, {0, Operation::kPut, 0, 0, "z", "z"});
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());

  struct Keys : ReplaySink {
    Status Apply(const SortedBatch& batch) override {
      for (const Record& record : batch.records) seen += std::to_string(record.sequence);
      return Status();
    }
    std::string seen;
  } keys;
  ASSERT_TRUE(Replay(Reader::Open(Path("log"))->get(), &keys).ok());
  EXPECT_EQ(keys.seen, "52431");
}

TEST_F(ReplayTest, TheFirstErrorOfTheSinkEndsIt) {
  Tables expected;
  WriteRandom(5000, &expected);
  TableSink sink;
  sink.fail_after_ = 3;
  Status status = Replay(Reader::Open(Path("log"))->get(), &sink);
  EXPECT_EQ(status.message(), "the sink is full");
  EXPECT_EQ(sink.batches_, 3);
}

TEST_F(ReplayTest, DamageEndsItAfterTheBatchesBefore) {
  Tables expected;
  Segment segment = WriteRandom(5000, &expected);
  std::string bytes = Slurp(Path("log"));
  bytes[bytes.size() / 2] ^= 1;
  Spill(Path("log"), bytes);
  TableSink sink;
  EXPECT_EQ(Replay(Reader::Open(Path("log"))->get(), &sink).kind(), ErrorKind::kCorruption);
  EXPECT_GT(sink.batches_, 0);
  EXPECT_LT(sink.last_sequence_, segment.last_sequence());
}

TEST_F(ReplayTest, AnEmptySegmentIsNothing) {
  ASSERT_TRUE(NewWriter("log")->Close(Durability::kProcess).ok());
  TableSink sink;
  EXPECT_TRUE(Replay(Reader::Open(Path("log"))->get(), &sink).ok());
  EXPECT_EQ(sink.batches_, 0);
}

}  // namespace
}  // namespace flint::changelog
