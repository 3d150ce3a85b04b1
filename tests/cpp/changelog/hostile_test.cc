// Files made to harm: every checksum fits, and what they say of their sizes is a lie. The answer is
// an error, and memory stays within what the format allows.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "base/checksum.h"
#include "changelog/codec.h"
#include "segment_fixture.h"

namespace flint::changelog {
namespace {

class HostileTest : public SegmentFixture {
 protected:
  // A torn segment of one block, whose header says whatever it likes of `body`.
  Outcome ReadBlock(BlockHeader header, const std::string& body) {
    std::string file = FileHeader().Encode();
    header.entry.offset = file.size();
    header.entry.first_sequence = 1;
    std::string filled = body + std::string(FillingAfter(body.size()), kFilling);
    header.entry.body_checksum = Crc32c(filled);
    std::string encoded(kBlockHeaderSize, '\0');
    header.EncodeTo(FileHeader::Salt(file), encoded.data());
    Spill(Path("hostile"), file + encoded + filled);
    return ReadBack(Path("hostile"));
  }
  Outcome ReadRaw(const std::string& raw, uint32_t count, uint32_t keys = 0, uint32_t values = 0) {
    BlockHeader header;
    header.entry.count = count;
    header.entry.raw_size = header.entry.stored_size = static_cast<uint32_t>(raw.size());
    header.keys_size = keys;
    header.values_size = values;
    return ReadBlock(header, raw);
  }
  static void ExpectCorruption(const Outcome& outcome) {
    ASSERT_FALSE(outcome.status.ok());
    EXPECT_EQ(outcome.status.kind(), ErrorKind::kCorruption) << outcome.status.message();
    EXPECT_NE(outcome.status.message().find("offset 72"), std::string::npos);
  }
  static long MostMemoryKib() {
    struct rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  }
};

TEST_F(HostileTest, AWellMadeBlockIsRead) {
  Outcome outcome = ReadRaw(std::string("vk\x01\x01\x00\x00\x00\x01", 8), 1, 1, 1);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.records.at(0).key, "k");
  EXPECT_EQ(outcome.records.at(0).value, "v");
}

TEST_F(HostileTest, AbsurdSizesAreRefusedBeforeAnythingIsAllocated) {
  const long before = MostMemoryKib();
  BlockHeader header;
  header.codec = Codec::kZstd;
  header.entry.count = 1;
  for (uint32_t raw_size : {kBlockRawMax + 1, UINT32_MAX}) {
    header.entry.raw_size = raw_size;
    header.entry.stored_size = 10;
    ExpectCorruption(ReadBlock(header, "0123456789"));
  }
  header.entry.raw_size = 100;
  header.entry.count = kBlockRecordsMax + 1;
  ExpectCorruption(ReadBlock(header, "0123456789"));
  header.entry.count = 1;
  header.keys_size = header.values_size = UINT32_MAX;
  ExpectCorruption(ReadBlock(header, "0123456789"));
  EXPECT_LT(MostMemoryKib() - before, 100 * 1024);
}

TEST_F(HostileTest, AFrameThatHoldsMoreThanItSaysIsCorruption) {
  std::string bomb(50 << 20, '\0');
  std::string body(Compressor::Bound(bomb.size()), '\0');
  Compressor compressor(1);
  body.resize(*compressor.Compress(bomb, body.data(), body.size()));
  BlockHeader header;
  header.codec = Codec::kZstd;
  header.entry.count = 1;
  header.entry.stored_size = static_cast<uint32_t>(body.size());
  for (uint32_t declared :
       {static_cast<uint32_t>(body.size()) + 1, (50u << 20) - 1, (50u << 20) + 1}) {
    header.entry.raw_size = declared;
    ExpectCorruption(ReadBlock(header, body));
  }
}

TEST_F(HostileTest, ARubbishFrameIsCorruption) {
  BlockHeader header;
  header.codec = Codec::kZstd;
  header.entry.count = 1;
  header.entry.stored_size = 500;
  header.entry.raw_size = 1000;
  ExpectCorruption(ReadBlock(header, std::string(500, 'x')));
}

TEST_F(HostileTest, ColumnsThatContradictEachOtherAreCorruption) {
  using std::string_literals::operator""s;
  ExpectCorruption(ReadRaw("vk\x01\x01\x00\x00\x00\x01"s, 2, 1, 1));      // a record too many
  ExpectCorruption(ReadRaw("vk\x02\x01\x00\x00\x00\x01"s, 1, 1, 1));      // a key too long
  ExpectCorruption(ReadRaw("vk\x01\x00\x00\x00\x00\x01"s, 1, 1, 1));      // a value too short
  ExpectCorruption(ReadRaw("vk\x01\x01\x00\x00\x00"s, 1, 1, 1));          // a run cut short
  ExpectCorruption(ReadRaw("vk\x01\x01\x00\x00\x00\x02"s, 1, 1, 1));      // a run too long
  ExpectCorruption(ReadRaw("vk\x01\x01\x00\x00\x00\x00"s, 1, 1, 1));      // an empty run
  ExpectCorruption(ReadRaw("vk\x01\x01\x09\x00\x00\x01"s, 1, 1, 1));      // no such operation
  ExpectCorruption(ReadRaw("vk\x01\x01\x01\x00\x00\x01"s, 1, 1, 1));      // a delete with a value
  ExpectCorruption(ReadRaw("vk\x01\x01\x00\x05\x00\x01"s, 1, 1, 1));      // a group out of bounds
  ExpectCorruption(ReadRaw("vk\x81\x00\x01\x00\x00\x00\x01"s, 1, 1, 1));  // a varint too long
  ExpectCorruption(ReadRaw("vk\x01\x01"s, 1, 1, 1));                      // no run at all
  ExpectCorruption(ReadRaw(""s, 1));
}

TEST_F(HostileTest, AnotherStreamIsLeftToANewerVersion) {
  BlockHeader header;
  header.entry.count = 1;
  header.entry.raw_size = header.entry.stored_size = 8;
  header.entry.stream = 1;
  EXPECT_EQ(ReadBlock(header, "12345678").status.kind(), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace flint::changelog
