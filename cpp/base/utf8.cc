#include "base/utf8.h"

#include <algorithm>
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

// A block of bytes, each of which is looked at in a lane of its own.
using Lanes = uint8_t __attribute__((vector_size(16)));
constexpr size_t kBlock = sizeof(Lanes);
constexpr size_t kBefore = 3;  // bytes that a byte's place in its character depends on

Lanes LoadLanes(const char* at) {
  Lanes lanes;
  std::memcpy(&lanes, at, sizeof lanes);
  return lanes;
}

// Where a block is wrong, given the bytes before it. A character that it ends in is not: the next
// block has to go on with it. Comparisons alone, and no branch, so that text of any script is as
// fast as any other.
Lanes FaultsAt(const char* at) {
  const Lanes byte = LoadLanes(at);
  const Lanes one = LoadLanes(at - 1);
  const auto continues = (byte & 0xC0) == 0x80;
  const auto must = (one >= 0xC0) | (LoadLanes(at - 2) >= 0xE0) | (LoadLanes(at - 3) >= 0xF0);
  const auto no_lead = (byte == 0xC0) | (byte == 0xC1) | (byte > 0xF4);
  const auto too_long = ((one == 0xE0) & (byte < 0xA0)) | ((one == 0xF0) & (byte < 0x90));
  const auto no_point = ((one == 0xED) & (byte > 0x9F)) | ((one == 0xF4) & (byte > 0x8F));
  return (Lanes)((continues ^ must) | no_lead | too_long | no_point);
}

// The same for a block at the edge of the bytes: what is outside counts as zeros.
Lanes FaultsAtEdge(std::string_view bytes, size_t at) {
  char block[kBefore + kBlock] = {};
  if (at == 0 && bytes.size() >= kBlock) {
    std::memcpy(block + kBefore, bytes.data(), kBlock);
    return FaultsAt(block + kBefore);
  }
  const size_t before = std::min(at, kBefore);
  const size_t size = std::min(bytes.size() - at, kBlock);
  std::memcpy(block + kBefore - before, bytes.data() + at - before, before + size);
  return FaultsAt(block + kBefore);
}

// Whether a character goes on behind the end, which is that of three bytes at least.
bool IsCutShort(const char* end) {
  auto byte = [end](int back) { return static_cast<uint8_t>(end[-back]); };
  return byte(1) >= 0xC0 || byte(2) >= 0xE0 || byte(3) >= 0xF0;
}

bool Any(Lanes faults) {
  uint64_t halves[2];
  std::memcpy(halves, &faults, sizeof faults);
  return (halves[0] | halves[1]) != 0;
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
  uint64_t words = 0;
  for (; end - at >= 8; at += 8) words |= LoadWord(at);
  if (bytes.size() >= 8) return ((words | LoadWord(end - 8)) & kHighBits) == 0;
  uint8_t any = 0;
  for (; at < end; ++at) any |= static_cast<uint8_t>(*at);
  return any < 0x80;
}

bool IsUtf8(std::string_view bytes) {
  if (IsAscii(bytes)) return true;
  Lanes faults = FaultsAtEdge(bytes, 0);
  size_t at = kBlock;
  for (; at + kBlock <= bytes.size(); at += kBlock) faults |= FaultsAt(bytes.data() + at);
  if (bytes.size() < kBlock + kBefore) {
    return !Any(at <= bytes.size() ? faults | FaultsAtEdge(bytes, at) : faults);
  }
  const char* end = bytes.data() + bytes.size();
  return !Any(faults | FaultsAt(end - kBlock)) &&
         !IsCutShort(end);  // once more, where they overlap
}

}  // namespace flint
