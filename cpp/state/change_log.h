#pragma once

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

// Borrows key and value.
struct Change {
  ChangeKind kind = ChangeKind::kPut;
  uint16_t group = 0;
  uint32_t table = 0;
  std::string_view key;
  std::string_view value;
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
