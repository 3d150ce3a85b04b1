#include "store/merge_function.h"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "row/value_view.h"
#include "row/value_writer.h"

namespace flint {
namespace {

constexpr std::array<std::string_view, 11> kNames = {"replace", "append", "sum",    "min",
                                                     "max",     "count",  "first",  "last",
                                                     "bit_and", "bit_or", "bit_xor"};

// How the bytes of a slot are to be read as a number.
enum class Number : uint8_t { kNone, kSigned, kUnsigned, kFloat };

Number NumberOf(const DataType& type) {
  switch (type.id) {
    case TypeId::kFloat32:
    case TypeId::kFloat64:
      return Number::kFloat;
    case TypeId::kUInt8:
    case TypeId::kUInt16:
    case TypeId::kUInt32:
    case TypeId::kUInt64:
      return Number::kUnsigned;
    case TypeId::kInt8:
    case TypeId::kInt16:
    case TypeId::kInt32:
    case TypeId::kInt64:
    case TypeId::kDecimal128:
    case TypeId::kDate32:
    case TypeId::kDate64:
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
      return Number::kSigned;
    default:
      return Number::kNone;
  }
}

bool IsInteger(const DataType& type) {
  return type.id >= TypeId::kInt8 && type.id <= TypeId::kUInt64;
}

bool CanSum(const DataType& type) {
  return IsInteger(type) || NumberOf(type) == Number::kFloat || type.id == TypeId::kDecimal128 ||
         type.id == TypeId::kDuration;
}

template <class T>
void Store(T value, std::string* out) {
  out->assign(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T Picked(bool least, T older, T newer) {
  if constexpr (std::is_floating_point_v<T>) {
    // As keys are ordered: NaN after everything else.
    if (older != older) return least ? newer : older;
    if (newer != newer) return least ? older : newer;
  }
  return (newer < older) == least ? newer : older;
}

template <class T>
T Summed(T older, T newer) {
  if constexpr (std::is_floating_point_v<T>)
    return older + newer;
  else if constexpr (sizeof(T) < 16) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(older) + static_cast<Wrapping>(newer));
  } else {
    using Wide = unsigned __int128;
    return static_cast<T>(static_cast<Wide>(older) + static_cast<Wide>(newer));
  }
}

template <class T>
bool MergeNumbers(MergeFunction function, std::string_view a, std::string_view b,
                  std::string* out) {
  if (a.size() != sizeof(T) || b.size() != sizeof(T)) return false;
  T older = LoadUnaligned<T>(a.data());
  T newer = LoadUnaligned<T>(b.data());
  if (function == MergeFunction::kMin || function == MergeFunction::kMax) {
    Store(Picked(function == MergeFunction::kMin, older, newer), out);
    return true;
  }
  if (function == MergeFunction::kSum || function == MergeFunction::kCount) {
    Store(Summed(older, newer), out);
    return true;
  }
  if constexpr (std::is_integral_v<T>) {
    if (function == MergeFunction::kBitAnd)
      Store(static_cast<T>(older & newer), out);
    else if (function == MergeFunction::kBitOr)
      Store(static_cast<T>(older | newer), out);
    else
      Store(static_cast<T>(older ^ newer), out);
    return true;
  }
  return false;
}

bool MergeNumbersOf(const DataType& type, MergeFunction function, std::string_view older,
                    std::string_view newer, std::string* out) {
  Number number = NumberOf(type);
  bool is_signed = number == Number::kSigned;
  switch (type.FixedWidth()) {
    case 1:
      return is_signed ? MergeNumbers<int8_t>(function, older, newer, out)
                       : MergeNumbers<uint8_t>(function, older, newer, out);
    case 2:
      return is_signed ? MergeNumbers<int16_t>(function, older, newer, out)
                       : MergeNumbers<uint16_t>(function, older, newer, out);
    case 4:
      if (number == Number::kFloat) return MergeNumbers<float>(function, older, newer, out);
      return is_signed ? MergeNumbers<int32_t>(function, older, newer, out)
                       : MergeNumbers<uint32_t>(function, older, newer, out);
    case 8:
      if (number == Number::kFloat) return MergeNumbers<double>(function, older, newer, out);
      return is_signed ? MergeNumbers<int64_t>(function, older, newer, out)
                       : MergeNumbers<uint64_t>(function, older, newer, out);
    default:
      return MergeNumbers<__int128>(function, older, newer, out);
  }
}

// Writes the elements of `list` as those from number `first` on.
bool AppendElements(const ValueLayout& layout, const ListView& list, uint32_t first,
                    ListWriter* writer, std::string* out) {
  for (uint32_t i = 0; i < list.count(); ++i) {
    std::string_view value;
    if (list.IsNull(i)) {
      writer->SetNull(first + i);
      continue;
    }
    if (!list.Value(i, &value)) return false;
    if (layout.element().value.fixed) {
      std::memcpy(out->data() + writer->SlotAt(first + i), value.data(), value.size());
    } else {
      out->append(value);
      writer->End(first + i);
    }
  }
  return true;
}

bool AppendLists(const ValueLayout& layout, std::string_view a, std::string_view b,
                 std::string* out) {
  ListView older, newer;
  if (!older.Open(layout, a) || !newer.Open(layout, b)) return false;
  out->clear();
  ListWriter writer(layout, out, older.count() + newer.count());
  return AppendElements(layout, older, 0, &writer, out) &&
         AppendElements(layout, newer, older.count(), &writer, out);
}

const char* MeantFor(MergeFunction function) {
  switch (function) {
    case MergeFunction::kAppend:
      return "strings, binaries and lists";
    case MergeFunction::kSum:
      return "integers, float32, float64, decimal128 and durations";
    case MergeFunction::kMin:
    case MergeFunction::kMax:
      return "integers, float32, float64, decimal128, dates, times, strings and binaries";
    case MergeFunction::kCount:
      return "int64";
    default:
      return "integers";
  }
}

bool Fits(MergeFunction function, const DataType& type) {
  switch (function) {
    case MergeFunction::kAppend:
      return type.IsBytes() || type.id == TypeId::kList || type.id == TypeId::kLargeList;
    case MergeFunction::kSum:
      return CanSum(type);
    case MergeFunction::kMin:
    case MergeFunction::kMax:
      return NumberOf(type) != Number::kNone || type.IsBytes() || type.id == TypeId::kFixedBinary;
    case MergeFunction::kCount:
      return type.id == TypeId::kInt64;
    case MergeFunction::kBitAnd:
    case MergeFunction::kBitOr:
    case MergeFunction::kBitXor:
      return IsInteger(type);
    default:
      return true;
  }
}

}  // namespace

Result<MergeFunction> ParseMergeFunction(std::string_view name) {
  std::string known;
  for (size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<MergeFunction>(i);
    known += (i > 1 ? ", " : "") + std::string(kNames[i]);
  }
  return Status::Invalid("there is no merge function '" + std::string(name) + "', but " + known);
}

std::string_view MergeFunctionName(MergeFunction function) {
  return kNames[static_cast<size_t>(function)];
}

Status CheckMergeFunction(MergeFunction function, const Field& column) {
  if (Fits(function, column.type)) return {};
  return Status::Invalid("column '" + column.name + "' is " + column.type.ToString() + ": " +
                         std::string(MergeFunctionName(function)) + " merges " +
                         MeantFor(function));
}

bool MergeValues(MergeFunction function, const ValueLayout& layout, std::string_view older,
                 std::string_view newer, std::string* out) {
  switch (function) {
    case MergeFunction::kFirst:
      out->assign(older);
      return true;
    case MergeFunction::kReplace:
    case MergeFunction::kLast:
      out->assign(newer);
      return true;
    case MergeFunction::kAppend:
      if (older.size() + newer.size() > kRowBytesMax) return false;
      if (!layout.type.IsBytes()) return AppendLists(layout, older, newer, out);
      out->assign(older).append(newer);
      return true;
    default:
      break;
  }
  if (NumberOf(layout.type) != Number::kNone) {
    return MergeNumbersOf(layout.type, function, older, newer, out);
  }
  bool newer_wins = (newer < older) == (function == MergeFunction::kMin);
  out->assign(newer_wins ? newer : older);
  return true;
}

}  // namespace flint
