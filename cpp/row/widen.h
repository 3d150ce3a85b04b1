#pragma once

#include <string_view>

#include "base/arrow_type.h"

namespace flint {

// How stored values of one type are read as another that holds every one of them.
enum class Widening : uint8_t {
  kNone,    // the same bytes: the same type, or string -> large_string, list -> large_list
  kSigned,  // integers by their sign; decimals of the same scale too
  kUnsigned,
  kSignedToFloat64,
  kUnsignedToFloat64,
  kSignedToFloat32,
  kUnsignedToFloat32,
  kFloat16,  // to float32 or float64
  kFloat32,  // to float64
  kNull,     // of type null: every value is null
  kRefused,
};

// What makes a `to` of a `from`; kRefused where that would lose something or change a meaning.
// Both are plain.
Widening WideningOf(const DataType& from, const DataType& to);

// The longest slot that is ever widened to.
inline constexpr int kWidenedBytesMax = 32;

// Writes the wide value of a fixed-width `slot` to `out`: `width` bytes. Any but kNone and kNull.
void Widen(Widening widening, std::string_view slot, int width, char* out);

}  // namespace flint
