#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// Names and keys of what a backend keeps about itself, as docs/format/state.md specifies them.

inline constexpr char kMetaFamily[] = "_meta";
inline constexpr char kIdentityKey[] = "backend";
inline constexpr char kCommitKey[] = "commit";
inline constexpr char kElementsKey[] = "elements";
inline constexpr char kCatalogueKeys[] = "state/";

std::string FamilyName(uint32_t state_id);  // "state.7"
std::optional<uint32_t> StateIdOf(std::string_view family);
std::string CatalogueKey(uint32_t state_id);  // "state/", and the number, the highest byte first
std::optional<uint32_t> CatalogueIdOf(std::string_view key);

// The number of the next list or sorted element. Corruption where it is not 8 bytes, or so high
// that it would not be counted to.
Result<uint64_t> ParseNextElement(std::string_view bytes);

// What a directory is the state of, written when it is made and never changed.
struct BackendIdentity {
  Schema key;
  int max_parallelism = 0;
  uint16_t first_group = 0;
  uint16_t last_group = 0;

  std::string Serialize() const;
  static Result<BackendIdentity> Parse(std::string_view bytes);
  // Invalid, naming both.
  Status CheckSame(const BackendIdentity& wanted) const;
  std::string ToString() const;
};

}  // namespace flint
