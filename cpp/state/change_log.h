#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "state/commit_point.h"

namespace flint {

// What a backend and a changelog have to do with each other: all that either knows of the other.
// docs/format/state.md says what is logged for each operation.

enum class ChangeKind : uint8_t {
  kPut = 0,
  kDelete = 1,       // has no value
  kMerge = 2,        // the value is the operand
  kDeleteRange = 3,  // keys from `key` on; the value is the end, which is not deleted
  kMetadata = 4,     // of the backend itself
};

// A table of the log is a state by its number; number 0 is the backend itself, whose entries are
// metadata and concern every key group, by this sign.
inline constexpr uint32_t kBackendTable = 0;
inline constexpr uint16_t kEveryGroup = 0xFFFF;

// A row key and what stands under it have so many bytes together at most: a segment's record holds
// no more (docs/format/changelog.md). A value's row leaves room for the keys that people have.
inline constexpr size_t kChangeBytesMax = 128u << 20;
inline constexpr size_t kValueBytesMax = 127u << 20;

Status TooLarge(size_t key_bytes, size_t row_bytes);
// Invalid where a row can't be kept. Asked before it is, lest a commit find out.
inline Status CheckSize(size_t key_bytes, size_t row_bytes) {
  constexpr size_t kBesides = 9;  // tag and time stamp
  bool fits = row_bytes <= kValueBytesMax && key_bytes + row_bytes + kBesides <= kChangeBytesMax;
  return fits ? Status() : TooLarge(key_bytes, row_bytes);
}

// Borrows key and value.
struct Change {
  ChangeKind kind = ChangeKind::kPut;
  uint16_t group = 0;
  uint32_t table = 0;
  std::string_view key;
  std::string_view value;
  uint64_t sequence = 0;  // in the segment that it is read from
};

// One segment while a commit writes it. Destroyed without Finish, it has failed.
class ChangeWriter {
 public:
  virtual ~ChangeWriter() = default;
  virtual Status Append(const Change& change) = 0;
  // As durable as the caller wants it; the sequence number of the last change.
  virtual Result<uint64_t> Finish() = 0;
};

// One segment that is to be replayed.
class ChangeSource {
 public:
  virtual ~ChangeSource() = default;
  virtual std::string name() const = 0;  // for messages
  virtual std::optional<VersionId> version() const = 0;
  virtual std::optional<VersionId> parent() const = 0;
  virtual uint64_t first_sequence() const = 0;
  virtual uint64_t last_sequence() const = 0;
  // The changes of groups first..last, in order, until one visit fails.
  virtual Status ForEach(uint16_t first, uint16_t last,
                         const std::function<Status(const Change&)>& visit) = 0;
};

}  // namespace flint
