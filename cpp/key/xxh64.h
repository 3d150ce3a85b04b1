#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace flint {

// XXH64, a published 64-bit hash: the same for the same bytes and seed on every machine. Not for
// secrets.
inline uint64_t Xxh64(std::string_view bytes, uint64_t seed);

namespace xxh64_internal {

inline constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
inline constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
inline constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
inline constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
inline constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

inline uint64_t Rotate(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

template <class Word>
uint64_t Load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

inline uint64_t Round(uint64_t lane, uint64_t word) {
  return Rotate(lane + word * kPrime2, 31) * kPrime1;
}

inline uint64_t Merge(uint64_t hash, uint64_t lane) {
  return (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
}

// Takes 32 bytes at a time in four lanes; moves `at` past what it took.
inline uint64_t Stripes(const char** at, const char* end, uint64_t seed) {
  uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
  for (; end - *at >= 32; *at += 32) {
    a = Round(a, Load<uint64_t>(*at));
    b = Round(b, Load<uint64_t>(*at + 8));
    c = Round(c, Load<uint64_t>(*at + 16));
    d = Round(d, Load<uint64_t>(*at + 24));
  }
  uint64_t hash = Rotate(a, 1) + Rotate(b, 7) + Rotate(c, 12) + Rotate(d, 18);
  return Merge(Merge(Merge(Merge(hash, a), b), c), d);
}

}  // namespace xxh64_internal

inline uint64_t Xxh64(std::string_view bytes, uint64_t seed) {
  using namespace xxh64_internal;
  const char* at = bytes.data();
  const char* end = at + bytes.size();
  uint64_t hash = bytes.size() >= 32 ? Stripes(&at, end, seed) : seed + kPrime5;
  hash += bytes.size();
  for (; end - at >= 8; at += 8) {
    hash = Rotate(hash ^ Round(0, Load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (end - at >= 4) {
    hash = Rotate(hash ^ Load<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at != end; ++at) hash = Rotate(hash ^ Load<uint8_t>(at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace flint
