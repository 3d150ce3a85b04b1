#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

enum class StateKind : uint8_t {
  kValue = 1,
  kList = 2,
  kMap = 3,
  kReducing = 4,
  kAggregating = 5,
  kSorted = 6,
  kTimers = 7,
};

std::string_view KindName(StateKind kind);  // "value", "list", ...

// What a state is: what its catalogue entry says, and what opening it again is compared with. Time
// to live, defaults and functions written in Python are the opener's affair, and not part of it.
struct StateDescriptor {
  std::string name;
  StateKind kind = StateKind::kValue;
  Schema value;                         // one column: the value, element or accumulator
  Schema user_key;                      // map: one column; sorted: one or more; others: none
  std::vector<std::string> descending;  // columns of user_key
  Schema space;                         // the namespace: one column, or none
  std::string function;                 // reducing: the built-in function, or empty
  std::string value_codec;              // names of codecs; empty: none
  std::string key_codec;

  std::string Serialize() const;
  // Corruption where the bytes are not what Serialize wrote.
  static Result<StateDescriptor> Parse(std::string_view bytes);

  // "list state 'words' of string, namespace string"
  std::string ToString() const;
  // Invalid, with both named, where `wanted` is another kind or has other types.
  Status CheckSame(const StateDescriptor& wanted) const;
};

}  // namespace flint
