#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/arrow_column.h"
#include "base/status.h"
#include "key/key_encoder.h"
#include "key/key_schema.h"

namespace flint {

inline constexpr uint32_t kMaxParallelismMax = 32768;

// Key groups: the hash of a key's canonical form (docs/format/key.md), modulo max_parallelism. All
// who place keys compute them here. Const and thread-safe.
class KeyGroupHash {
 public:
  static constexpr uint64_t kSeed = 0x666C696E74;  // "flint"

  // `key`: the key's columns. Refuses types that can't be keys.
  static Result<KeyGroupHash> Make(const Schema& key, uint32_t max_parallelism);

  // What single keys are written with before they are hashed.
  const KeySchema& canonical() const { return encoder_.schema(); }
  uint32_t max_parallelism() const { return max_parallelism_; }

  // The group of a key that was encoded with canonical().
  uint16_t GroupOf(std::string_view canonical_key) const;
  // The groups of rows from .. from+count-1, column k of the key being columns[k], of any layout.
  Status GroupsOf(std::span<const ColumnView> columns, int64_t from, int64_t count,
                  uint16_t* groups) const;

 private:
  KeyGroupHash(KeySchema canonical, uint32_t max_parallelism)
      : encoder_(std::move(canonical)), max_parallelism_(max_parallelism) {}

  KeyEncoder encoder_;
  uint32_t max_parallelism_;
};

}  // namespace flint
