#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace flint {

// Strings inside a key: 00 is written as 01 01, 01 as 01 02, and 00 is the end. The constants are
// of the ascending form; a descending value has every byte inverted.

inline constexpr uint8_t kEnd = 0x00;
inline constexpr uint8_t kEscape = 0x01;
inline constexpr uint8_t kEscapedMin = 0x01;  // what follows an escape is the byte plus this

namespace escaped_internal {

inline uint64_t Load(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Whether a byte of the word is below 2.
inline bool HasLow(uint64_t word) {
  constexpr uint64_t kOnes = ~uint64_t{0} / 255;
  return ((word - 2 * kOnes) & ~word & (128 * kOnes)) != 0;
}

template <class Word>
void CopyWord(const char* in, uint64_t mask, char* out) {
  Word word;
  std::memcpy(&word, in, sizeof word);
  word ^= static_cast<Word>(mask);
  std::memcpy(out, &word, sizeof word);
}

}  // namespace escaped_internal

// Whether any byte needs an escape.
inline bool NeedsEscapes(std::string_view value) {
  using namespace escaped_internal;
  const char* at = value.data();
  size_t left = value.size();
  if (left >= 8) {
    for (; left > 8; at += 8, left -= 8) {
      if (HasLow(Load(at))) return true;
    }
    return HasLow(Load(at + left - 8));
  }
  bool low = false;
  for (size_t i = 0; i < left; ++i) low |= static_cast<uint8_t>(at[i]) <= kEscape;
  return low;
}

// Where the first byte stands that, with `mask` taken off, is an end or an escape; the size if
// none.
inline size_t FindLow(std::string_view bytes, uint64_t mask) {
  using namespace escaped_internal;
  size_t at = 0;
  while (at + 8 <= bytes.size() && !HasLow(Load(bytes.data() + at) ^ mask)) at += 8;
  auto invert = static_cast<uint8_t>(mask);
  while (at < bytes.size() && (static_cast<uint8_t>(bytes[at]) ^ invert) > kEscape) ++at;
  return at;
}

inline size_t CountEscapes(std::string_view value) {
  size_t count = 0;
  for (char byte : value) count += static_cast<uint8_t>(byte) <= kEscape;
  return count;
}

// Copies `size` bytes, inverted by `mask` (all ones or zero), touching no other byte.
inline void CopyMasked(const char* in, size_t size, uint64_t mask, char* out) {
  using namespace escaped_internal;
  if (size >= 8) {
    for (; size > 8; in += 8, out += 8, size -= 8) CopyWord<uint64_t>(in, mask, out);
    // The last eight bytes, some of them perhaps again.
    CopyWord<uint64_t>(in + size - 8, mask, out + size - 8);
  } else if (size >= 4) {
    CopyWord<uint32_t>(in, mask, out);
    CopyWord<uint32_t>(in + size - 4, mask, out + size - 4);
  } else {
    for (size_t i = 0; i < size; ++i) CopyWord<uint8_t>(in + i, mask, out + i);
  }
}

// Writes the value, byte by byte with its escapes, without an end; returns where it stopped.
inline char* WriteEscaped(std::string_view value, uint64_t mask, char* out) {
  auto invert = static_cast<uint8_t>(mask);
  for (char byte : value) {
    auto plain = static_cast<uint8_t>(byte);
    if (plain <= kEscape) {
      *out++ = static_cast<char>(kEscape ^ invert);
      plain += kEscapedMin;
    }
    *out++ = static_cast<char>(plain ^ invert);
  }
  return out;
}

}  // namespace flint
