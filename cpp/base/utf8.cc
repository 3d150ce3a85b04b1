#include "base/utf8.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flint {
namespace {

constexpr size_t kAtOnce = 64;
constexpr uint64_t kHighBits = 0x8080808080808080u;

uint64_t LoadWord(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// What may follow a lead byte: how many bytes, and between which bounds the first of them lies.
struct Sequence {
  size_t length;  // with the lead; 0: it leads nothing
  uint8_t least;
  uint8_t most;
};

Sequence SequenceOf(uint8_t lead) {
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// The length of the character of several bytes that `bytes` begin with; 0: there is none.
size_t CharacterLength(std::string_view bytes) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  Sequence sequence = SequenceOf(byte(0));
  if (sequence.length == 0 || bytes.size() < sequence.length) return 0;
  if (byte(1) < sequence.least || byte(1) > sequence.most) return 0;
  for (size_t i = 2; i < sequence.length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return sequence.length;
}

}  // namespace

bool IsAscii(std::string_view bytes) {
  const char* at = bytes.data();
  const char* end = at + bytes.size();
  for (; end - at >= static_cast<ptrdiff_t>(kAtOnce); at += kAtOnce) {
    uint64_t any = 0;
    for (size_t i = 0; i < kAtOnce; i += 8) any |= LoadWord(at + i);
    if ((any & kHighBits) != 0) return false;
  }
  uint8_t any = 0;
  for (; at < end; ++at) any |= static_cast<uint8_t>(*at);
  return any < 0x80;
}

bool IsUtf8(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    if (at + 8 <= bytes.size()) {
      const uint64_t high = LoadWord(bytes.data() + at) & kHighBits;
      at += high == 0 ? 8 : static_cast<size_t>(std::countr_zero(high)) / 8;
      if (high == 0) continue;
    } else if (static_cast<uint8_t>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    size_t length = CharacterLength(bytes.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace flint
