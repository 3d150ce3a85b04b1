#include "changelog/writer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <span>

#include "base/arrow_builder.h"
#include "changelog/segment_file.h"
#include "segment_fixture.h"

namespace flint::changelog {
namespace {

class WriterTest : public SegmentFixture {};

TEST_F(WriterTest, WhatIsAppendedIsReadBackInOrder) {
  Segment segment = WriteSample("log");
  Outcome outcome = ReadBack(Path("log"));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.records, written_);
  EXPECT_FALSE(outcome.torn);
  EXPECT_EQ(outcome.segment, segment);
}

TEST_F(WriterTest, FullBlocksAreWrittenInTheBackground) {
  WriterOptions options;
  options.batch_bytes = 4096;
  std::unique_ptr<Writer> writer = NewWriter("log", options);
  for (int i = 0; i < 20'000; ++i) {
    std::string n = std::to_string(i);
    Append(*writer, {0, Operation::kPut, static_cast<uint16_t>(i % 7), 1, "key" + n, "value" + n});
  }
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  Outcome outcome = ReadBack(Path("log"));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.records, written_);
}

TEST_F(WriterTest, AFewFullBlocksAreWrittenThoughNothingMoreIsAppended) {
  WriterOptions options;
  options.batch_bytes = 1024;
  std::unique_ptr<Writer> writer = NewWriter("log", options);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 33; ++i)
      Append(*writer, {0, Operation::kPut, 0, 1, "k", std::string(98, 'v')});
    size_t expected = written_.size() / 11 * 11;  // so many fill a block
    auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ReadBack(Path("log")).records.size() < expected) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    }
  }
}

TEST_F(WriterTest, ManyBlocksWrittenByOneCallAreReadBack) {
  FileHeader header;
  Result<SegmentFile> file = SegmentFile::Create(Path("log"), header);
  constexpr size_t kBlocks = 150;
  std::vector<BlockBuilder> builders(kBlocks);
  std::vector<EncodedBlock> encoded(kBlocks);
  std::vector<EncodedBlock*> blocks;
  Compressor compressor(1);
  for (size_t i = 0; i < kBlocks; ++i) {
    std::string value(i % 3 * 500, 'v');  // stored and compressed by turns
    builders[i].Add(Operation::kPut, 2, 1, "k" + std::to_string(i), value);
    written_.push_back({i + 1, Operation::kPut, 2, 1, "k" + std::to_string(i), value});
    ArrowBuffer* raw = builders[i].Seal();
    ASSERT_TRUE(encoded[i].Encode(builders[i].header(), raw, &compressor).ok());
    blocks.push_back(&encoded[i]);
  }
  ASSERT_TRUE(file->AddBlocks(std::span(blocks).first(100)).ok());
  ASSERT_TRUE(file->AddBlocks(std::span(blocks).subspan(100)).ok());
  Result<Segment> segment = file->Finish(Durability::kProcess, &compressor);
  ASSERT_TRUE(segment.ok());
  Outcome outcome = ReadBack(Path("log"));
  EXPECT_EQ(outcome.records, written_);
  EXPECT_EQ(outcome.segment, *segment);
}

TEST_F(WriterTest, AnAppendAtOnceLeavesTheRecordThatFillsTheBlockToOneThatMayWait) {
  WriterOptions options;
  options.batch_bytes = 1024;
  std::unique_ptr<Writer> writer = NewWriter("log", options);
  std::string value(300, 'v');
  Record record{0, Operation::kPut, 0, 1, "k", value};
  std::optional<Result<uint64_t>> appended;
  uint64_t expected = 0;
  while ((appended = writer->AppendAtOnce(record)).has_value()) {
    ASSERT_EQ(**appended, ++expected);
  }
  EXPECT_EQ(expected, 3u);
  EXPECT_EQ(*writer->Append(record), 4u);
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  EXPECT_EQ(ReadBack(Path("log")).records.size(), 4u);
  appended = writer->AppendAtOnce(record);
  EXPECT_EQ(appended->status().kind(), ErrorKind::kClosed);
}

TEST_F(WriterTest, RowsOfEveryLayoutFillOneBlockAfterTheOther) {
  WriterOptions options;
  options.batch_bytes = 1024;
  std::unique_ptr<Writer> writer = NewWriter("log", options);
  for (TypeId id : {TypeId::kBinary, TypeId::kLargeBinary, TypeId::kString}) {
    ColumnBuilder keys{DataType(id)}, values{DataType(TypeId::kBinary)};
    for (int i = 0; i < 3000; ++i) {
      std::string n = std::to_string(i);
      keys.AppendBytes("key" + n);
      values.AppendBytes(std::string(static_cast<size_t>(i % 50), 'v') + n);
      written_.push_back({written_.size() + 1, Operation::kMerge, 4, 1, "key" + n,
                          std::string(static_cast<size_t>(i % 50), 'v') + n});
    }
    OwnedArray key_array, value_array;
    keys.Finish(key_array.get());
    values.Finish(value_array.get());
    ColumnView key_view = *ColumnView::Make(DataType(id), *key_array);
    ColumnView value_view = *ColumnView::Make(DataType(TypeId::kBinary), *value_array);
    Result<uint64_t> last =
        writer->AppendMany({Operation::kMerge, 1, 4, &key_view, &value_view, nullptr});
    ASSERT_EQ(*last, written_.size());
  }
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  EXPECT_EQ(ReadBack(Path("log")).records, written_);
}

TEST_F(WriterTest, SequenceNumbersFollowEachOtherFromTheFirst) {
  WriterOptions options;
  options.first_sequence = 41;
  std::unique_ptr<Writer> writer = NewWriter("log", options);
  EXPECT_EQ(writer->last_sequence(), 40u);
  EXPECT_EQ(*writer->Append({0, Operation::kPut, 0, 0, "a", "1"}), 41u);
  EXPECT_EQ(*writer->Append({0, Operation::kPut, 0, 0, "b", "2"}), 42u);
  EXPECT_EQ(*writer->Sync(), 42u);
  Result<Segment> segment = writer->Close(Durability::kMachine);
  EXPECT_EQ(segment->first_sequence, 41u);
  EXPECT_EQ(segment->last_sequence(), 42u);
}

TEST_F(WriterTest, ASegmentWithoutARecordSaysWhereItStands) {
  WriterOptions options;
  options.first_sequence = 9;
  Result<Segment> segment = NewWriter("log", options)->Close(Durability::kProcess);
  ASSERT_TRUE(segment.ok());
  Outcome outcome = ReadBack(Path("log"));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.segment, *segment);
  EXPECT_EQ(segment->last_sequence(), 8u);
}

TEST_F(WriterTest, WhatWasSyncedIsThereWithoutClose) {
  std::unique_ptr<Writer> writer = NewWriter("log");
  Append(*writer, {0, Operation::kPut, 3, 1, "a", "1"});
  ASSERT_TRUE(writer->Sync().ok());
  ASSERT_TRUE(writer->Append({0, Operation::kPut, 3, 1, "b", "2"}).ok());
  writer.reset();
  Outcome outcome = ReadBack(Path("log"));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_TRUE(outcome.torn);
  EXPECT_EQ(outcome.records, written_);
}

TEST_F(WriterTest, RollGoesOnInANewSegment) {
  std::unique_ptr<Writer> writer = NewWriter("1");
  Append(*writer, {0, Operation::kPut, 3, 1, "a", "1"});
  Result<Segment> first = writer->Roll(Path("2"), {2}, {1});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(writer->path(), Path("2"));
  Append(*writer, {0, Operation::kPut, 4, 1, "b", "2"});
  Result<Segment> second = writer->Close(Durability::kMachine);
  ASSERT_TRUE(second.ok());

  EXPECT_EQ(ReadBack(Path("1")).segment, *first);
  Outcome outcome = ReadBack(Path("2"));
  EXPECT_EQ(outcome.segment, *second);
  EXPECT_EQ(second->version, VersionId{2});
  EXPECT_EQ(second->parent, VersionId{1});
  EXPECT_EQ(second->first_sequence, 2u);
  EXPECT_EQ(outcome.records.at(0), written_.at(1));
}

TEST_F(WriterTest, ARollThatCannotBeMadeLeavesAllAsItWas) {
  std::unique_ptr<Writer> writer = NewWriter("1");
  Append(*writer, {0, Operation::kPut, 3, 1, "a", "1"});
  EXPECT_FALSE(writer->Roll(Path("1"), {}, {}).ok());
  Append(*writer, {0, Operation::kPut, 3, 1, "b", "1"});
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  EXPECT_EQ(ReadBack(Path("1")).records, written_);
}

TEST_F(WriterTest, AfterCloseEveryCallIsAnsweredWithClosed) {
  std::unique_ptr<Writer> writer = NewWriter("log");
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  EXPECT_EQ(writer->Append({}).status().kind(), ErrorKind::kClosed);
  EXPECT_EQ(writer->Sync().status().kind(), ErrorKind::kClosed);
  EXPECT_EQ(writer->Roll(Path("2"), {}, {}).status().kind(), ErrorKind::kClosed);
  EXPECT_EQ(writer->Close(Durability::kProcess).status().kind(), ErrorKind::kClosed);
}

TEST_F(WriterTest, ARecordBeyondTheLimitIsRefusedWithoutHarm) {
  std::unique_ptr<Writer> writer = NewWriter("log");
  std::string huge(kRecordBytesMax + size_t{1}, 'x');
  EXPECT_EQ(writer->Append({0, Operation::kPut, 0, 0, "", huge}).status().kind(),
            ErrorKind::kInvalid);
  EXPECT_EQ(writer->Append({0, Operation::kDelete, 0, 0, "k", "v"}).status().kind(),
            ErrorKind::kInvalid);
  Append(*writer, {0, Operation::kPut, 0, 0, "k", "v"});
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  EXPECT_EQ(ReadBack(Path("log")).records, written_);
}

TEST_F(WriterTest, OptionsOutOfRangeAreRefusedByName) {
  WriterOptions options;
  options.level = 99;
  EXPECT_EQ(Writer::Create(Path("a"), options).status().kind(), ErrorKind::kInvalid);
  options = {};
  options.batch_bytes = 10;
  EXPECT_EQ(Writer::Create(Path("b"), options).status().kind(), ErrorKind::kInvalid);
  options = {};
  options.first_sequence = 0;
  EXPECT_EQ(Writer::Create(Path("c"), options).status().kind(), ErrorKind::kInvalid);
}

TEST_F(WriterTest, ANameIsWrittenOnce) {
  WriteSample("log");
  EXPECT_FALSE(Writer::Create(Path("log"), {}).ok());
  EXPECT_FALSE(Writer::Create(Path("no/such/directory"), {}).ok());
}

}  // namespace
}  // namespace flint::changelog
