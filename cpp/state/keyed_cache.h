#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "state/row_key.h"
#include "state/state_context.h"

namespace flint {

// Entries by (key, namespace): a hash table with open addressing over entries that stay where they
// are until all are dropped at once. An entry has the members `hash` and `row_key`, which is the
// key group, the key and the namespace.
template <class Entry>
class KeyedCache {
 public:
  explicit KeyedCache(size_t group_bytes) : group_bytes_(group_bytes) {}

  // The entry, and whether it was made just now.
  std::pair<Entry*, bool> FindOrAdd(const StateKey& key, std::string_view space) {
    if (entries_.size() * 2 >= slots_.size()) Grow();
    uint64_t hash = Mix(key.hash, space);
    size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.entry == nullptr) return {Add(key, space, hash, &slot), true};
      if (slot.hash == hash && Is(*slot.entry, key, space)) return {slot.entry, false};
    }
  }
  void Clear() {
    entries_.clear();
    slots_.clear();
  }
  size_t size() const { return entries_.size(); }

  // What an entry costs beside what it points to.
  static constexpr size_t kEntryCost = sizeof(Entry) + 40;

 private:
  struct Slot {
    uint64_t hash = 0;
    Entry* entry = nullptr;
  };
  static constexpr size_t kSlotsMin = 256;

  static uint64_t Mix(uint64_t key_hash, std::string_view space) {
    uint64_t hash = key_hash;
    for (char byte : space) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 32;
  }
  bool Is(const Entry& entry, const StateKey& key, std::string_view space) const {
    std::string_view there = std::string_view(entry.row_key).substr(group_bytes_);
    return there.size() == key.bytes.size() + space.size() && there.starts_with(key.bytes) &&
           there.ends_with(space);
  }
  Entry* Add(const StateKey& key, std::string_view space, uint64_t hash, Slot* slot) {
    Entry& entry = entries_.emplace_back();
    entry.hash = hash;
    entry.row_key.reserve(group_bytes_ + key.bytes.size() + space.size());
    AppendGroup(key.group, group_bytes_, &entry.row_key);
    entry.row_key.append(key.bytes).append(space);
    *slot = {hash, &entry};
    return &entry;
  }
  void Grow() {
    std::vector<Slot> grown(std::max(kSlotsMin, slots_.size() * 2));
    size_t mask = grown.size() - 1;
    for (const Slot& slot : slots_) {
      if (slot.entry == nullptr) continue;
      size_t at = slot.hash & mask;
      while (grown[at].entry != nullptr) at = (at + 1) & mask;
      grown[at] = slot;
    }
    slots_ = std::move(grown);
  }

  size_t group_bytes_;
  std::deque<Entry> entries_;
  std::vector<Slot> slots_;  // a power of two
};

}  // namespace flint
