#include "key/key_group.h"

#include <algorithm>
#include <string>
#include <utility>

#include "key/xxh64.h"

namespace flint {
namespace {

constexpr int64_t kBlockRows = 4096;  // encoded, then hashed while they are in the cache

}  // namespace

Result<KeyGroupHash> KeyGroupHash::Make(const Schema& key, uint32_t max_parallelism) {
  if (max_parallelism == 0 || max_parallelism > kMaxParallelismMax) {
    return Status::Invalid("max_parallelism is " + std::to_string(max_parallelism) +
                           ": choose 1 to 32768");
  }
  FLINT_ASSIGN_OR_RETURN(KeySchema canonical, KeySchema::Canonical(key));
  return KeyGroupHash(std::move(canonical), max_parallelism);
}

uint16_t KeyGroupHash::GroupOf(std::string_view canonical_key) const {
  return static_cast<uint16_t>(Xxh64(canonical_key, kSeed) % max_parallelism_);
}

Status KeyGroupHash::GroupsOf(std::span<const ColumnView> columns, int64_t from, int64_t count,
                              uint16_t* groups) const {
  EncodedKeys keys;
  for (int64_t done = 0; done < count; done += kBlockRows) {
    int64_t rows = std::min(kBlockRows, count - done);
    keys.Clear();
    FLINT_RETURN_IF_ERROR(encoder_.Append(columns, from + done, rows, &keys));
    for (int64_t i = 0; i < rows; ++i) groups[done + i] = GroupOf(keys[i]);
  }
  return Status();
}

}  // namespace flint
