// A file may end anywhere (a crash), and any bit of it may be wrong (damage): which is which, what
// is read, and that nothing but what was written ever comes out.

#include <gtest/gtest.h>

#include <algorithm>

#include "changelog/format.h"
#include "segment_fixture.h"

namespace flint::changelog {
namespace {

class DamageTest : public SegmentFixture {
 protected:
  void SetUp() override {
    SegmentFixture::SetUp();
    segment_ = WriteSample("whole");
    bytes_ = Slurp(Path("whole"));
  }

  Outcome ReadBytes(const std::string& bytes, ReadOptions options = {}) {
    Spill(Path("changed"), bytes);
    return ReadBack(Path("changed"), options);
  }
  bool IsPrefixOfWritten(const std::vector<Held>& records) const {
    return records.size() <= written_.size() &&
           std::equal(records.begin(), records.end(), written_.begin());
  }
  // Records in blocks that lie in the first `length` bytes.
  size_t RecordsWholeIn(size_t length) const {
    size_t records = 0;
    size_t at = kFileHeaderSize;
    while (at + kBlockHeaderSize <= length) {
      Result<BlockHeader> header = BlockHeader::Decode(bytes_.substr(at, kBlockHeaderSize));
      if (!header.ok() || header->kind != BlockKind::kRecords) break;
      at = header->entry.end();
      if (at <= length) records += header->entry.count;
    }
    return records;
  }

  Segment segment_;
  std::string bytes_;
};

TEST_F(DamageTest, EveryTruncationIsTornAndReadUpToTheLastWholeBlock) {
  for (size_t length = 0; length < bytes_.size(); ++length) {
    Outcome outcome = ReadBytes(bytes_.substr(0, length));
    ASSERT_TRUE(outcome.status.ok()) << length << ": " << outcome.status.message();
    ASSERT_TRUE(outcome.torn) << length;
    ASSERT_TRUE(IsPrefixOfWritten(outcome.records)) << length;
    ASSERT_EQ(outcome.records.size(), RecordsWholeIn(length)) << length;
  }
}

TEST_F(DamageTest, ZerosInPlaceOfTheEndAreTornToo) {
  for (size_t length = 0; length < bytes_.size(); ++length) {
    for (size_t size : {bytes_.size(), bytes_.size() + 5000}) {
      std::string zeros = bytes_.substr(0, length) + std::string(size - length, '\0');
      Outcome outcome = ReadBytes(zeros);
      ASSERT_TRUE(outcome.status.ok()) << length << ": " << outcome.status.message();
      ASSERT_TRUE(outcome.torn) << length;
      ASSERT_EQ(outcome.records.size(), RecordsWholeIn(length)) << length;
      ASSERT_TRUE(IsPrefixOfWritten(outcome.records)) << length;
    }
  }
}

TEST_F(DamageTest, EveryFlippedBitIsFoundWithFileAndOffset) {
  for (size_t i = 0; i < bytes_.size() * 8; ++i) {
    std::string flipped = bytes_;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
    Outcome outcome = ReadBytes(flipped);
    ASSERT_FALSE(outcome.status.ok()) << "bit " << i;
    ASSERT_EQ(outcome.status.kind(), ErrorKind::kCorruption) << outcome.status.message();
    ASSERT_NE(outcome.status.message().find(Path("changed")), std::string::npos);
    ASSERT_NE(outcome.status.message().find("offset"), std::string::npos);
    ASSERT_TRUE(IsPrefixOfWritten(outcome.records)) << "bit " << i;
  }
}

TEST_F(DamageTest, AFlippedBitInATornFileIsDamageAndNeverARecordThatWasNotWritten) {
  std::string torn = bytes_.substr(0, bytes_.size() * 2 / 3);
  size_t whole = RecordsWholeIn(torn.size());
  for (size_t i = 0; i < torn.size() * 8; ++i) {
    std::string flipped = torn;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
    Outcome outcome = ReadBytes(flipped);
    ASSERT_TRUE(IsPrefixOfWritten(outcome.records)) << "bit " << i;
    bool in_cut_block = outcome.status.ok() && outcome.records.size() == whole;
    ASSERT_TRUE(in_cut_block || outcome.status.kind() == ErrorKind::kCorruption) << "bit " << i;
  }
}

TEST_F(DamageTest, ABlockOfZerosBeforeAWholeOneIsDamage) {
  Result<BlockHeader> first = BlockHeader::Decode(bytes_.substr(kFileHeaderSize, kBlockHeaderSize));
  size_t end = first->entry.end();
  std::string hole = bytes_;
  std::fill(hole.begin() + kFileHeaderSize, hole.begin() + static_cast<ptrdiff_t>(end), '\0');
  EXPECT_EQ(ReadBytes(hole).status.kind(), ErrorKind::kCorruption);
  // Without its end too: the second block is whole, and follows.
  hole.resize(bytes_.size() - 30);
  EXPECT_EQ(ReadBytes(hole).status.kind(), ErrorKind::kCorruption);
}

TEST_F(DamageTest, ASectorThatWasNeverWrittenInTheLastBlockIsTorn) {
  WriterOptions options;
  std::unique_ptr<Writer> writer = NewWriter("sectors", options);
  std::string noise(3000, ' ');
  for (size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<char>((i * i * 2654435761u) >> 13);
  ASSERT_TRUE(writer->Append({0, Operation::kPut, 0, 0, "k", noise}).ok());
  ASSERT_TRUE(writer->Sync().ok());
  writer.reset();
  std::string lost = Slurp(Path("sectors"));
  std::fill(lost.begin() + 1024, lost.begin() + 1536, '\0');
  Outcome outcome = ReadBytes(lost);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_TRUE(outcome.torn);
  EXPECT_EQ(outcome.records.size(), 0u);
}

TEST_F(DamageTest, WhatFollowsTheEndIsDamageUnlessItIsZeros) {
  Outcome zeros = ReadBytes(bytes_ + std::string(4096, '\0'));
  EXPECT_TRUE(zeros.status.ok()) << zeros.status.message();
  EXPECT_TRUE(zeros.torn);
  EXPECT_EQ(zeros.records, written_);
  for (const std::string& rubbish : {std::string("x"), std::string(200, 'x'), bytes_}) {
    EXPECT_EQ(ReadBytes(bytes_ + rubbish).status.kind(), ErrorKind::kCorruption);
  }
}

TEST_F(DamageTest, RubbishAfterATornFileIsDamage) {
  size_t second = BlockHeader::Decode(bytes_.substr(kFileHeaderSize))->entry.end();
  for (size_t size : {1u, 9u, 64u, 100u, 3000u}) {
    Outcome outcome = ReadBytes(bytes_.substr(0, second) + std::string(size, 'x'));
    EXPECT_EQ(outcome.status.kind(), ErrorKind::kCorruption) << size;
  }
}

TEST_F(DamageTest, ABlockOfAnotherSegmentDoesNotPassForOneOfThisOne) {
  written_.clear();
  WriterOptions options;
  options.version = {9};
  std::unique_ptr<Writer> writer = NewWriter("other", options);
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    Append(*writer, {0, Operation::kPut, 0, 1, "key" + n, std::string(90, 'w') + n});
    ASSERT_TRUE(writer->Sync().ok());
  }
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  std::string mixed =
      bytes_.substr(0, kFileHeaderSize) + Slurp(Path("other")).substr(kFileHeaderSize);
  EXPECT_EQ(ReadBytes(mixed).status.kind(), ErrorKind::kCorruption);
}

TEST_F(DamageTest, AFileThatIsNotOursIsRefused) {
  EXPECT_EQ(ReadBytes("hello").status.kind(), ErrorKind::kCorruption);
  EXPECT_EQ(ReadBytes(std::string(5000, 'x')).status.kind(), ErrorKind::kCorruption);
  EXPECT_EQ(ReadBack(Path("missing")).status.kind(), ErrorKind::kNotFound);
}

TEST_F(DamageTest, ANewerFormatIsInvalidAndNotDamaged) {
  FileHeader header;
  header.format = 2;
  EXPECT_EQ(ReadBytes(header.Encode() + "whatever").status.kind(), ErrorKind::kInvalid);
}

TEST_F(DamageTest, ForAHandleTornIsDamageAndSoIsAnotherFile) {
  ReadOptions options;
  options.expected = segment_;
  EXPECT_EQ(ReadBytes(bytes_, options).records, written_);
  for (size_t length : {size_t{0}, size_t{50}, bytes_.size() - 7}) {
    EXPECT_EQ(ReadBytes(bytes_.substr(0, length), options).status.kind(), ErrorKind::kCorruption);
  }
  std::vector<Held> records = written_;
  WriteSample("shorter", 3);
  EXPECT_EQ(ReadBack(Path("shorter"), options).status.kind(), ErrorKind::kCorruption);
}

}  // namespace
}  // namespace flint::changelog
