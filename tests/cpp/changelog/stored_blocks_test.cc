// Which blocks are compressed, and which are stored as they are.

#include <gtest/gtest.h>

#include <random>

#include "changelog/block_builder.h"
#include "changelog/contents.h"
#include "changelog/encoded_block.h"
#include "segment_fixture.h"

namespace flint::changelog {
namespace {

class StoredBlocksTest : public SegmentFixture {
 protected:
  static constexpr size_t kValue = 1000;

  std::string Noise(size_t size = kValue) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  // Values of which each comes back after 16 others: between two of the same lies more than a piece
  // of a sample.
  std::string Repeated(size_t i) {
    while (pool_.size() < 16) pool_.push_back(Noise());
    return pool_[i % pool_.size()];
  }
  static std::string Text(size_t i) {
    std::string text;
    while (text.size() < kValue) text += "row " + std::to_string(i) + " of the text, ";
    return text;
  }
  void Put(Writer& writer, std::string value) {
    Append(writer, {0, Operation::kPut, 3, 1, std::to_string(written_.size()), std::move(value)});
  }
  std::unique_ptr<Writer> WriterOfSmallBlocks() {
    WriterOptions options;
    options.batch_bytes = 64u << 10;
    return NewWriter("log", options);
  }
  // Closes, compares what is read back, and tells of each block whether it is compressed.
  std::vector<bool> Compressed(Writer& writer) {
    EXPECT_TRUE(writer.Close(Durability::kProcess).ok());
    Outcome outcome = ReadBack(Path("log"));
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.records, written_);
    std::vector<bool> compressed;
    Contents contents = *FindContents(*ReadFile::Open(Path("log")));
    for (const IndexEntry& block : contents.blocks) {
      compressed.push_back(block.stored_size < block.raw_size);
    }
    return compressed;
  }

  std::mt19937_64 random_{7};
  std::vector<std::string> pool_;
};

TEST_F(StoredBlocksTest, RandomBytesAreStoredAsTheyAre) {
  std::unique_ptr<Writer> writer = WriterOfSmallBlocks();
  for (int i = 0; i < 1500; ++i) Put(*writer, Noise());
  std::vector<bool> compressed = Compressed(*writer);
  EXPECT_EQ(compressed, std::vector<bool>(compressed.size(), false));
}

TEST_F(StoredBlocksTest, WhatSavesLessThanASixteenthIsStoredAsItIs) {
  std::unique_ptr<Writer> writer = WriterOfSmallBlocks();
  for (int i = 0; i < 64; ++i) Put(*writer, Noise(970) + std::string(30, ' '));
  ASSERT_TRUE(writer->Sync().ok());
  for (int i = 0; i < 64; ++i) Put(*writer, Noise(900) + std::string(100, ' '));
  EXPECT_EQ(Compressed(*writer), (std::vector<bool>{false, true}));
}

TEST_F(StoredBlocksTest, DataThatBeginsRandomAndBecomesCompressibleIsCompressedAgain) {
  std::unique_ptr<Writer> writer = WriterOfSmallBlocks();
  for (size_t i = 0; i < 1000; ++i) Put(*writer, Noise());
  ASSERT_TRUE(writer->Sync().ok());
  for (size_t i = 0; i < 1000; ++i) Put(*writer, Text(i));
  std::vector<bool> compressed = Compressed(*writer);
  std::vector<bool> expected(16, false);
  expected.resize(compressed.size(), true);  // from the very first block on
  EXPECT_EQ(compressed, expected);
}

TEST_F(StoredBlocksTest, RepetitionsThatNoSampleSeesAreFoundWithinAFewBlocks) {
  std::unique_ptr<Writer> writer = WriterOfSmallBlocks();
  for (size_t i = 0; i < 800; ++i) Put(*writer, Noise());  // 12 blocks and a part of one
  for (size_t i = 0; i < 3000; ++i) Put(*writer, Repeated(i));
  std::vector<bool> compressed = Compressed(*writer);
  EXPECT_FALSE(compressed[14]);  // or this test shows nothing
  for (size_t i = 32; i < compressed.size(); ++i) EXPECT_TRUE(compressed[i]) << i;
}

TEST_F(StoredBlocksTest, RepetitionsThatNoSampleSeesAreCompressedFromTheBeginning) {
  std::unique_ptr<Writer> writer = WriterOfSmallBlocks();
  for (size_t i = 0; i < 3000; ++i) Put(*writer, Repeated(i));
  std::vector<bool> compressed = Compressed(*writer);
  EXPECT_EQ(compressed, std::vector<bool>(compressed.size(), true));
}

TEST_F(StoredBlocksTest, RandomAndCompressibleDataByTurnsAreToldApart) {
  std::unique_ptr<Writer> writer = WriterOfSmallBlocks();
  std::vector<bool> expected;
  for (size_t turn = 0; turn < 30; ++turn) {
    for (size_t i = 0; i < 64; ++i) Put(*writer, turn % 5 == 4 ? Text(i) : Noise());
    ASSERT_TRUE(writer->Sync().ok());
    expected.push_back(turn % 5 == 4);
  }
  EXPECT_EQ(Compressed(*writer), expected);
}

// What sampling says of a block of random values in which the last `text` of `count` are text, and
// of such keys.
class SampleTest : public StoredBlocksTest {
 protected:
  bool Compresses(size_t count, size_t text_values, size_t text_keys = 0) {
    BlockBuilder builder;
    for (size_t i = 0; i < count; ++i) {
      bool text_key = i + text_keys >= count, text_value = i + text_values >= count;
      builder.Add(Operation::kPut, 0, 1, text_key ? Text(i) : Noise(),
                  text_value ? Text(i) : Noise());
    }
    ArrowBuffer* raw = builder.Seal();
    Compressor compressor(1);
    EncodedBlock block;
    EXPECT_TRUE(block.Encode(builder.header(), raw, &compressor, Effort::kSample).ok());
    return block.compressed();
  }
};

TEST_F(SampleTest, ABlockOfRandomBytesIsNotTriedWhole) {
  for (size_t count : {1, 3, 10, 100, 1000}) EXPECT_FALSE(Compresses(count, 0)) << count;
}

TEST_F(SampleTest, APartOfABlockThatShrinksIsSeen) {
  for (size_t count : {10, 100, 1000}) {
    EXPECT_TRUE(Compresses(count, count)) << count;
    EXPECT_TRUE(Compresses(count, count / 3)) << count;
    EXPECT_TRUE(Compresses(count, 0, count / 3)) << count;
  }
}

TEST_F(SampleTest, AnEmptyBlockAndEmptyRecordsAreEncoded) {
  for (uint32_t count : {0u, 1u, 1000u}) {
    BlockBuilder builder;
    for (uint32_t i = 0; i < count; ++i) builder.Add(Operation::kDelete, 0, 1, "", "");
    ArrowBuffer* raw = builder.Seal();
    Compressor compressor(1);
    EncodedBlock block;
    ASSERT_TRUE(block.Encode(builder.header(), raw, &compressor, Effort::kSample).ok());
    EXPECT_EQ(block.compressed(), count == 1000);
  }
}

}  // namespace
}  // namespace flint::changelog
