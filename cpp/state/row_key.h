#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/status.h"

namespace flint {

// How the row keys of a backend begin: with the key group, 1 byte where there are up to 128 groups,
// else 2, the higher first. docs/format/state.md is the specification. Pure functions.

constexpr int kOneByteGroups = 128;
constexpr size_t kElementBytes = 8;  // of an element's number, which ends its row key

constexpr size_t GroupBytes(int max_parallelism) {
  return max_parallelism <= kOneByteGroups ? 1 : 2;
}

inline void AppendGroup(uint16_t group, size_t group_bytes, std::string* out) {
  if (group_bytes == 2) out->push_back(static_cast<char>(group >> 8));
  out->push_back(static_cast<char>(group));
}

// Requires at least `group_bytes` bytes.
inline uint16_t GroupOf(std::string_view row_key, size_t group_bytes) {
  auto byte = [&](size_t i) { return static_cast<uint16_t>(static_cast<uint8_t>(row_key[i])); };
  return group_bytes == 1 ? byte(0) : static_cast<uint16_t>(byte(0) << 8 | byte(1));
}

// What follows the group; Corruption where there is not even that.
inline Result<std::string_view> BehindGroup(std::string_view row_key, size_t group_bytes) {
  if (row_key.size() >= group_bytes) return row_key.substr(group_bytes);
  return Status::Corruption("a row key is too short for its key group");
}

// Eight bytes, the highest first: element numbers, and times with their sign bit flipped.
inline void AppendBigEndian(uint64_t number, std::string* out) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
  out->append(bytes, sizeof bytes);
}

inline uint64_t LoadBigEndian(const char* bytes) {
  uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

}  // namespace flint
