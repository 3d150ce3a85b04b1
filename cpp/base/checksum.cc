#include "base/checksum.h"

#include <array>
#include <cstring>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace flint {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, bits reversed

#if defined(__SSE4_2__)
uint32_t Step8(uint32_t crc, uint64_t word) {
  return static_cast<uint32_t>(_mm_crc32_u64(crc, word));
}
uint32_t Step1(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
#elif defined(__ARM_FEATURE_CRC32)
uint32_t Step8(uint32_t crc, uint64_t word) { return __crc32cd(crc, word); }
uint32_t Step1(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
#else
constexpr std::array<uint32_t, 256> MakeByteTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kByteTable = MakeByteTable();

uint32_t Step1(uint32_t crc, uint8_t byte) { return kByteTable[(crc ^ byte) & 0xFF] ^ (crc >> 8); }
uint32_t Step8(uint32_t crc, uint64_t word) {
  for (int i = 0; i < 8; ++i) crc = Step1(crc, static_cast<uint8_t>(word >> (8 * i)));
  return crc;
}
#endif

// A table that advances a checksum over `kLane` zero bytes, a byte of the checksum at a time. With
// it three lanes run side by side: the instruction takes three cycles and starts one each cycle.
constexpr size_t kLane = 1024;
using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;

constexpr uint32_t ShiftOneBit(uint32_t crc) { return (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0); }

// Advancing over zeros is linear: the images of the 32 single bits give all others.
ShiftTable MakeShiftTable(size_t zero_bytes) {
  std::array<uint32_t, 32> image{};
  for (int bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < zero_bytes * 8; ++i) crc = ShiftOneBit(crc);
    image[static_cast<size_t>(bit)] = crc;
  }
  ShiftTable table{};
  for (size_t byte = 0; byte < 4; ++byte) {
    for (uint32_t value = 0; value < 256; ++value) {
      uint32_t crc = 0;
      for (size_t bit = 0; bit < 8; ++bit) {
        if (value >> bit & 1) crc ^= image[8 * byte + bit];
      }
      table[byte][value] = crc;
    }
  }
  return table;
}

uint32_t Shift(const ShiftTable& table, uint32_t crc) {
  return table[0][crc & 0xFF] ^ table[1][crc >> 8 & 0xFF] ^ table[2][crc >> 16 & 0xFF] ^
         table[3][crc >> 24];
}

uint64_t Load8(const char* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

uint32_t ThreeLanes(uint32_t crc, const char* data) {
  static const ShiftTable table = MakeShiftTable(kLane);
  uint32_t a = crc, b = 0, c = 0;
  for (size_t i = 0; i < kLane; i += 8) {
    a = Step8(a, Load8(data + i));
    b = Step8(b, Load8(data + kLane + i));
    c = Step8(c, Load8(data + 2 * kLane + i));
  }
  return Shift(table, Shift(table, a) ^ b) ^ c;
}

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  const char* data = bytes.data();
  size_t left = bytes.size();
  for (; left >= 3 * kLane; data += 3 * kLane, left -= 3 * kLane) crc = ThreeLanes(crc, data);
  for (; left >= 8; data += 8, left -= 8) crc = Step8(crc, Load8(data));
  for (; left > 0; ++data, --left) crc = Step1(crc, static_cast<uint8_t>(*data));
  return ~crc;
}

uint32_t Crc32c(std::string_view bytes) { return ExtendCrc32c(0, bytes); }

}  // namespace flint
