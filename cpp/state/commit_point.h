#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace flint {

// A version's random id; all zeros stands for none.
using VersionId = std::array<uint8_t, 16>;

// Where a backend's files stand on the chain of versions: written in the same atomic batch as the
// data that it speaks of, so that the two can't disagree, whatever is lost.
struct CommitPoint {
  // nullopt: never committed.
  std::optional<VersionId> version;
  // The files hold more than `version`, and less than any other: changes that had to leave the
  // cache before they were committed, or a replay that was cut short. Only a base can mend it.
  bool between = false;
  uint64_t last_sequence = 0;  // of the last record that was logged

  std::string Serialize() const;
  static Result<CommitPoint> Parse(std::string_view bytes);
  bool operator==(const CommitPoint&) const = default;
};

// "0a1b..." or "none".
std::string VersionText(const std::optional<VersionId>& version);

}  // namespace flint
