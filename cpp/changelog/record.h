#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace flint::changelog {

// What a record does to its table. The numbers are those of the file.
enum class Operation : uint8_t {
  kPut = 0,
  kDelete = 1,       // has no value
  kMerge = 2,        // the value is the operand
  kDeleteRange = 3,  // keys from `key` on; the value is the end, which is not deleted
  kMetadata = 4,     // whatever the owner of the table noted
};
constexpr uint8_t kOperations = 5;

inline bool HasValue(Operation operation) { return operation != Operation::kDelete; }

// One state change. The changelog knows nothing of the types in key and value. Borrows both.
struct Record {
  uint64_t sequence = 0;  // given by the writer
  Operation operation = Operation::kPut;
  uint16_t group = 0;
  uint32_t table = 0;
  std::string_view key;
  std::string_view value;
};

// Key groups first..last, both included. As made it holds none.
struct KeyGroupRange {
  uint16_t first = 0xFFFF;
  uint16_t last = 0;

  static constexpr KeyGroupRange All() { return {0, 0xFFFF}; }
  bool Holds(uint16_t group) const { return first <= group && group <= last; }
  bool Meets(KeyGroupRange other) const { return first <= other.last && other.first <= last; }
  bool Covers(KeyGroupRange other) const { return first <= other.first && other.last <= last; }
  void Widen(KeyGroupRange other) {
    if (other.first < first) first = other.first;
    if (other.last > last) last = other.last;
  }
  bool operator==(const KeyGroupRange&) const = default;
};

// A version's random id; all zeros stands for none.
using VersionId = std::array<uint8_t, 16>;

// A closed segment, in the few words that a handle keeps: they name the content of the file.
struct Segment {
  std::string path;
  VersionId version{};
  VersionId parent{};
  uint64_t length = 0;          // of the file, in bytes
  uint64_t first_sequence = 0;  // where the next record would stand, if it holds none
  uint64_t records = 0;
  uint32_t checksum = 0;  // depends on every byte of every block
  KeyGroupRange groups;   // over all records

  // One before `first_sequence` where it holds no record.
  uint64_t last_sequence() const { return first_sequence + records - 1; }
  bool operator==(const Segment&) const = default;
};

}  // namespace flint::changelog
