#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "key/key_schema.h"

namespace flint {

// Values of fixed width to and from bytes that sort as they do. A *slot* is a value as an Arrow
// array keeps it (a bool as a byte). `mask` is all ones where the bytes are to be inverted
// (descending), else 0.

inline constexpr uint64_t kAscendingMask = 0;
inline constexpr uint64_t kDescendingMask = ~uint64_t{0};

inline uint64_t MaskOf(const KeyPart& part) {
  return part.descending ? kDescendingMask : kAscendingMask;
}

template <class Word>
Word BigEndian(Word word) {
  if constexpr (std::endian::native == std::endian::big || sizeof(Word) == 1) {
    return word;
  } else if constexpr (sizeof(Word) == 2) {
    return __builtin_bswap16(word);
  } else if constexpr (sizeof(Word) == 4) {
    return __builtin_bswap32(word);
  } else {
    return __builtin_bswap64(word);
  }
}

template <class Word>
inline constexpr Word kSignBit = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));

template <class Word>
inline constexpr int kMantissaBits = sizeof(Word) == 8   ? 52
                                     : sizeof(Word) == 4 ? 23
                                                         : 10;

// Without the sign: larger ones are NaNs.
template <class Word>
inline constexpr Word kInfinity =
    static_cast<Word>((kSignBit<Word> - 1) >> kMantissaBits<Word> << kMantissaBits<Word>);

template <class Word>
inline constexpr Word kNaN =
    static_cast<Word>(kInfinity<Word> | (Word{1} << (kMantissaBits<Word> - 1)));

// One word of 1, 2, 4 or 8 bytes.
template <KeyCode kCode, class Word>
struct WordCodec {
  static constexpr int64_t kWidth = sizeof(Word);

  static Word Order(Word bits) {
    if constexpr (kCode == KeyCode::kUnsigned) return bits;
    if constexpr (kCode == KeyCode::kFloat) {
      Word size = bits & static_cast<Word>(~kSignBit<Word>);
      bits = size == 0 ? Word{0} : bits;
      bits = size > kInfinity<Word> ? kNaN<Word> : bits;
      bool negative = (bits & kSignBit<Word>) != 0;
      return negative ? static_cast<Word>(~bits) : static_cast<Word>(bits | kSignBit<Word>);
    }
    return bits ^ kSignBit<Word>;
  }

  static Word Restore(Word ordered) {
    if constexpr (kCode == KeyCode::kUnsigned) return ordered;
    if constexpr (kCode == KeyCode::kFloat) {
      bool negative = (ordered & kSignBit<Word>) == 0;
      return negative ? static_cast<Word>(~ordered) : static_cast<Word>(ordered ^ kSignBit<Word>);
    }
    return ordered ^ kSignBit<Word>;
  }

  static void Encode(const char* slot, uint64_t mask, char* out) {
    Word word;
    std::memcpy(&word, slot, sizeof word);
    word = BigEndian(static_cast<Word>(Order(word) ^ static_cast<Word>(mask)));
    std::memcpy(out, &word, sizeof word);
  }

  static void Decode(const char* bytes, uint64_t mask, char* slot) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    word = Restore(static_cast<Word>(BigEndian(word) ^ static_cast<Word>(mask)));
    std::memcpy(slot, &word, sizeof word);
  }
};

// Integers of several words (decimals): signed, least significant word first in the slot.
template <int64_t kBytes>
struct WideCodec {
  static constexpr int64_t kWidth = kBytes;
  static constexpr int64_t kWords = kBytes / 8;

  static void Encode(const char* slot, uint64_t mask, char* out) {
    WordCodec<KeyCode::kSigned, uint64_t>::Encode(slot + 8 * (kWords - 1), mask, out);
    for (int64_t k = 1; k < kWords; ++k) {
      WordCodec<KeyCode::kUnsigned, uint64_t>::Encode(slot + 8 * (kWords - 1 - k), mask,
                                                      out + 8 * k);
    }
  }

  static void Decode(const char* bytes, uint64_t mask, char* slot) {
    WordCodec<KeyCode::kSigned, uint64_t>::Decode(bytes, mask, slot + 8 * (kWords - 1));
    for (int64_t k = 1; k < kWords; ++k) {
      WordCodec<KeyCode::kUnsigned, uint64_t>::Decode(bytes + 8 * k, mask,
                                                      slot + 8 * (kWords - 1 - k));
    }
  }
};

// Calls `work` with the codec of a part whose code is kUnsigned, kSigned or kFloat.
template <class Work>
void WithCodec(const KeyPart& part, Work&& work) {
  bool is_float = part.code == KeyCode::kFloat;
  bool is_signed = part.code == KeyCode::kSigned;
  auto word = [&]<class Word>(Word) {
    if (is_signed) return work(WordCodec<KeyCode::kSigned, Word>());
    return work(WordCodec<KeyCode::kUnsigned, Word>());
  };
  auto word_or_float = [&]<class Word>(Word zero) {
    return is_float ? work(WordCodec<KeyCode::kFloat, Word>()) : word(zero);
  };
  switch (part.width) {
    case 1:
      return word(uint8_t{});
    case 2:
      return word_or_float(uint16_t{});
    case 4:
      return word_or_float(uint32_t{});
    case 8:
      return word_or_float(uint64_t{});
    case 16:
      return work(WideCodec<16>());
    default:
      return work(WideCodec<32>());
  }
}

}  // namespace flint
