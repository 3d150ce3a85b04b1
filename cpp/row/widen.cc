#include "row/widen.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "row/value_view.h"

namespace flint {
namespace {

bool IsSigned(TypeId id) { return id >= TypeId::kInt8 && id <= TypeId::kInt64; }
bool IsUnsigned(TypeId id) { return id >= TypeId::kUInt8 && id <= TypeId::kUInt64; }
bool IsDecimal(TypeId id) { return id == TypeId::kDecimal128 || id == TypeId::kDecimal256; }

Widening ToFloat(const DataType& from, const DataType& to) {
  bool wide = to.id == TypeId::kFloat64;
  if (from.id == TypeId::kFloat16) return Widening::kFloat16;
  if (from.id == TypeId::kFloat32) return wide ? Widening::kFloat32 : Widening::kRefused;
  // 24 and 53 bits hold integers of 16 and 32 bits exactly.
  if (from.FixedWidth() > (wide ? 4 : 2)) return Widening::kRefused;
  if (IsSigned(from.id)) return wide ? Widening::kSignedToFloat64 : Widening::kSignedToFloat32;
  if (IsUnsigned(from.id)) {
    return wide ? Widening::kUnsignedToFloat64 : Widening::kUnsignedToFloat32;
  }
  return Widening::kRefused;
}

// Layouts that keep the same bytes: string -> large_string, list -> large_list.
bool SameBytes(const DataType& from, const DataType& to) {
  if (from.id == TypeId::kString) return to.id == TypeId::kLargeString;
  if (from.id == TypeId::kBinary) return to.id == TypeId::kLargeBinary;
  return from.id == TypeId::kList && to.id == TypeId::kLargeList && from.children == to.children;
}

int64_t SignedOf(std::string_view slot) {
  switch (slot.size()) {
    case 1:
      return LoadUnaligned<int8_t>(slot.data());
    case 2:
      return LoadUnaligned<int16_t>(slot.data());
    case 4:
      return LoadUnaligned<int32_t>(slot.data());
    default:
      return LoadUnaligned<int64_t>(slot.data());
  }
}

uint64_t UnsignedOf(std::string_view slot) {
  uint64_t value = 0;
  std::memcpy(&value, slot.data(), slot.size());
  return value;
}

float HalfToFloat(uint16_t half) {
  int exponent = half >> 10 & 31;
  auto mantissa = static_cast<float>(half & 1023);
  float size;
  if (exponent == 0) {
    size = std::ldexp(mantissa, -24);
  } else if (exponent < 31) {
    size = std::ldexp(mantissa + 1024, exponent - 25);
  } else {
    size = mantissa == 0 ? HUGE_VALF : std::nanf("");
  }
  return (half & 0x8000) != 0 ? -size : size;
}

template <class T>
void Store(T value, char* out) {
  std::memcpy(out, &value, sizeof value);
}

void StoreFloat(float value, int width, char* out) {
  width == 8 ? Store<double>(value, out) : Store(value, out);
}

}  // namespace

Widening WideningOf(const DataType& from, const DataType& to) {
  if (from == to || SameBytes(from, to)) return Widening::kNone;
  if (from.id == TypeId::kNull) return Widening::kNull;
  if (to.id == TypeId::kFloat32 || to.id == TypeId::kFloat64) return ToFloat(from, to);
  bool wider = to.FixedWidth() > from.FixedWidth();
  if (IsSigned(from.id) && IsSigned(to.id) && wider) return Widening::kSigned;
  if (IsUnsigned(from.id) && (IsUnsigned(to.id) || IsSigned(to.id)) && wider) {
    return Widening::kUnsigned;
  }
  bool decimals = IsDecimal(from.id) && IsDecimal(to.id) && from.scale == to.scale;
  if (decimals && to.precision >= from.precision && to.FixedWidth() >= from.FixedWidth()) {
    return Widening::kSigned;
  }
  return Widening::kRefused;
}

void Widen(Widening widening, std::string_view slot, int width, char* out) {
  auto bytes = static_cast<size_t>(width);
  switch (widening) {
    case Widening::kSigned: {
      bool negative = !slot.empty() && (slot.back() & 0x80) != 0;
      std::memset(out, negative ? 0xFF : 0, bytes);
      std::memcpy(out, slot.data(), slot.size());
      break;
    }
    case Widening::kUnsigned:
      std::memset(out, 0, bytes);
      std::memcpy(out, slot.data(), slot.size());
      break;
    case Widening::kSignedToFloat64:
      return Store(static_cast<double>(SignedOf(slot)), out);
    case Widening::kUnsignedToFloat64:
      return Store(static_cast<double>(UnsignedOf(slot)), out);
    case Widening::kSignedToFloat32:
      return Store(static_cast<float>(SignedOf(slot)), out);
    case Widening::kUnsignedToFloat32:
      return Store(static_cast<float>(UnsignedOf(slot)), out);
    case Widening::kFloat16:
      return StoreFloat(HalfToFloat(LoadUnaligned<uint16_t>(slot.data())), width, out);
    case Widening::kFloat32:
      return StoreFloat(LoadUnaligned<float>(slot.data()), width, out);
    case Widening::kNone:
    case Widening::kNull:
    case Widening::kRefused:
      break;
  }
}

}  // namespace flint
