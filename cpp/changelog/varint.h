#pragma once

#include <cstdint>

#include "base/arrow_builder.h"

namespace flint::changelog {

// Seven bits a byte, lowest first, the high bit set on all but the last: at most five bytes.
inline void PushVarint(ArrowBuffer& out, uint32_t value) {
  while (value >= 0x80) {
    out.Push(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  out.Push(static_cast<uint8_t>(value));
}

// Reads one varint and returns what follows it, or nullptr where it runs past `end` or is longer
// than 32 bits need.
inline const uint8_t* ReadVarint(const uint8_t* at, const uint8_t* end, uint32_t* value) {
  if (at < end && *at < 0x80) {
    *value = *at;
    return at + 1;
  }
  uint64_t result = 0;
  for (int shift = 0; shift < 35 && at < end; shift += 7, ++at) {
    result |= uint64_t{*at & 0x7Fu} << shift;
    if (*at >= 0x80) continue;
    bool shortest = *at != 0 || shift == 0;
    *value = static_cast<uint32_t>(result);
    return shortest && result <= UINT32_MAX ? at + 1 : nullptr;
  }
  return nullptr;
}

}  // namespace flint::changelog
