#include "base/checksum.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>

namespace flint {
namespace {

// Bit by bit, as the definition has it.
uint32_t SlowCrc32c(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

std::string RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(Checksum, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

TEST(Checksum, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  std::string bytes = RandomBytes(20'000, 1);
  for (size_t size : {1, 7, 8, 9, 63, 64, 3071, 3072, 3073, 6144, 6151, 19'990}) {
    for (size_t start : {0, 1, 3, 8}) {
      std::string part = bytes.substr(start, size);
      EXPECT_EQ(Crc32c(std::string_view(bytes).substr(start, size)), SlowCrc32c(part))
          << size << " bytes from " << start;
    }
  }
}

TEST(Checksum, OfTwoPartsIsThatOfTheWhole) {
  std::string bytes = RandomBytes(10'000, 2);
  for (size_t cut : {0, 1, 100, 4096, 9'999, 10'000}) {
    uint32_t first = Crc32c(std::string_view(bytes).substr(0, cut));
    EXPECT_EQ(ExtendCrc32c(first, std::string_view(bytes).substr(cut)), Crc32c(bytes)) << cut;
  }
}

TEST(Checksum, ChangesWithEveryFlippedBit) {
  std::string bytes = RandomBytes(5'000, 3);
  uint32_t whole = Crc32c(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 13) {
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    ASSERT_NE(Crc32c(bytes), whole) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
}

}  // namespace
}  // namespace flint
