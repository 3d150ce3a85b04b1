#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace flint {

// What stands under a row key: a tag, a time stamp where the tag says so, and the row.
// docs/format/state.md is the specification. Pure functions.

inline constexpr char kPlainTag = 0;
inline constexpr char kStampedTag = 1;
inline constexpr char kOperandTag = 2;
inline constexpr size_t kStampSize = 8;
// What an operand of a merge begins with: its tag, its function, its type (reducer.h).
inline constexpr size_t kOperandHead = 3;

// Stands for a time where there is none.
inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

inline void AppendPlain(std::string_view row, std::string* out) {
  out->push_back(kPlainTag);
  out->append(row);
}

inline void AppendStamped(int64_t stamp_ms, std::string_view row, std::string* out) {
  out->push_back(kStampedTag);
  out->append(reinterpret_cast<const char*>(&stamp_ms), sizeof stamp_ms);
  out->append(row);
}

// Plain where there is no stamp.
inline void AppendAt(int64_t stamp_ms, std::string_view row, std::string* out) {
  if (stamp_ms == kNoTime) return AppendPlain(row, out);
  AppendStamped(stamp_ms, row, out);
}

inline bool IsStamped(std::string_view stored) {
  return stored.size() > kStampSize && stored[0] == kStampedTag;
}

// Requires IsStamped.
inline int64_t StampOf(std::string_view stored) {
  int64_t stamp;
  std::memcpy(&stamp, stored.data() + 1, sizeof stamp);
  return stamp;
}

// kNoTime where there is none.
inline int64_t StampOrNone(std::string_view stored) {
  return IsStamped(stored) ? StampOf(stored) : kNoTime;
}

// The row; empty where the bytes are damaged (no row is empty).
inline std::string_view RowOf(std::string_view stored) {
  if (stored.empty()) return {};
  if (stored[0] == kPlainTag) return stored.substr(1);
  if (stored[0] == kOperandTag && stored.size() > kOperandHead) return stored.substr(kOperandHead);
  return IsStamped(stored) ? stored.substr(1 + kStampSize) : std::string_view();
}

}  // namespace flint
