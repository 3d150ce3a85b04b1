#include "state/reducer.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "state/stored_value.h"

namespace flint {
namespace {

constexpr size_t kVersionByte = 1;  // what a row begins with

struct NamedFunction {
  std::string_view name;
  ReduceFunction function;
};
constexpr NamedFunction kFunctions[] = {
    {"sum", ReduceFunction::kSum},        {"min", ReduceFunction::kMin},
    {"max", ReduceFunction::kMax},        {"count", ReduceFunction::kCount},
    {"first", ReduceFunction::kFirst},    {"last", ReduceFunction::kLast},
    {"bit_and", ReduceFunction::kBitAnd}, {"bit_or", ReduceFunction::kBitOr},
    {"bit_xor", ReduceFunction::kBitXor},
};

// NaN is the greatest number, as it is in keys.
template <class T>
bool Less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(b)) return !std::isnan(a);
  }
  return a < b;
}

template <class T>
T Combine(ReduceFunction function, T older, T newer) {
  switch (function) {
    case ReduceFunction::kSum:
    case ReduceFunction::kCount:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(older) + static_cast<uint64_t>(newer));
      } else {
        return older + newer;
      }
    case ReduceFunction::kMin:
      return Less(newer, older) ? newer : older;
    case ReduceFunction::kMax:
      return Less(older, newer) ? newer : older;
    case ReduceFunction::kFirst:
      return older;
    case ReduceFunction::kLast:
      return newer;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (function == ReduceFunction::kBitAnd) return static_cast<T>(older & newer);
    if (function == ReduceFunction::kBitOr) return static_cast<T>(older | newer);
    if (function == ReduceFunction::kBitXor) return static_cast<T>(older ^ newer);
  }
  return newer;
}

template <class T>
void CombineSlot(ReduceFunction function, char* older, const char* newer) {
  T a, b;
  std::memcpy(&a, older, sizeof a);
  std::memcpy(&b, newer, sizeof b);
  a = Combine(function, a, b);
  std::memcpy(older, &a, sizeof a);
}

// Half-precision numbers are added and compared as single-precision ones.
void CombineHalf(ReduceFunction function, char* older, const char* newer) {
  _Float16 a, b;
  std::memcpy(&a, older, sizeof a);
  std::memcpy(&b, newer, sizeof b);
  a = static_cast<_Float16>(Combine(function, static_cast<float>(a), static_cast<float>(b)));
  std::memcpy(older, &a, sizeof a);
}

// Rows of any type: one of the two is kept as it is.
void CombineWhole(ReduceFunction function, std::string* rows, size_t from, std::string_view newer) {
  if (function == ReduceFunction::kLast) rows->replace(from, std::string::npos, newer);
}

size_t SlotSize(TypeId type) { return static_cast<size_t>(DataType(type).FixedWidth()); }

// `rows` holds a row from `from` on, into which the operand's row is combined.
void CombineRows(std::string_view operand, std::string* rows, size_t from) {
  auto function = static_cast<ReduceFunction>(operand[1]);
  auto type = static_cast<TypeId>(operand[2]);
  std::string_view newer = operand.substr(kOperandHead);
  size_t slot = SlotSize(type);
  bool numbers =
      slot > 0 && rows->size() == from + kVersionByte + slot && newer.size() == kVersionByte + slot;
  if (!numbers) return CombineWhole(function, rows, from, newer);
  char* older = rows->data() + from + kVersionByte;
  const char* added = newer.data() + kVersionByte;
  switch (type) {
    case TypeId::kInt8:
      return CombineSlot<int8_t>(function, older, added);
    case TypeId::kInt16:
      return CombineSlot<int16_t>(function, older, added);
    case TypeId::kInt32:
      return CombineSlot<int32_t>(function, older, added);
    case TypeId::kInt64:
      return CombineSlot<int64_t>(function, older, added);
    case TypeId::kUInt8:
      return CombineSlot<uint8_t>(function, older, added);
    case TypeId::kUInt16:
      return CombineSlot<uint16_t>(function, older, added);
    case TypeId::kUInt32:
      return CombineSlot<uint32_t>(function, older, added);
    case TypeId::kUInt64:
      return CombineSlot<uint64_t>(function, older, added);
    case TypeId::kFloat16:
      return CombineHalf(function, older, added);
    case TypeId::kFloat32:
      return CombineSlot<float>(function, older, added);
    case TypeId::kFloat64:
      return CombineSlot<double>(function, older, added);
    default:
      return CombineWhole(function, rows, from, newer);
  }
}

bool IsOperand(std::string_view bytes) {
  return bytes.size() > kOperandHead && bytes[0] == kOperandTag;
}

class ReduceOperator : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "flintstate.reduce"; }

  // Never refuses: a merge operator that does stops every flush and compaction from then on.
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& value,
             std::string* merged, rocksdb::Logger*) const override {
    std::string_view operand(value.data(), value.size());
    std::string_view before = existing == nullptr
                                  ? std::string_view()
                                  : std::string_view(existing->data(), existing->size());
    if (IsOperand(before)) {
      merged->assign(before);
      MergeOperandInto(merged, operand);
    } else if (existing == nullptr) {
      merged->assign(operand);
    } else {
      *merged = MergeStored(before, operand);
    }
    return true;
  }
};

bool Defined(ReduceFunction function, TypeId type) {
  bool integer = type >= TypeId::kInt8 && type <= TypeId::kUInt64;
  bool real = type >= TypeId::kFloat16 && type <= TypeId::kFloat64;
  switch (function) {
    case ReduceFunction::kFirst:
    case ReduceFunction::kLast:
      return true;
    case ReduceFunction::kSum:
    case ReduceFunction::kMin:
    case ReduceFunction::kMax:
      return integer || real;
    default:
      return integer;
  }
}

}  // namespace

Result<Reducer> Reducer::Make(std::string_view function, const DataType& type) {
  for (const NamedFunction& known : kFunctions) {
    if (known.name != function) continue;
    if (!Defined(known.function, type.id)) {
      return Status::Invalid("'" + std::string(function) + "' is not defined for " +
                             type.ToString() + ": hand over a function of your own");
    }
    return Reducer(known.function, type.id);
  }
  return Status::Invalid("there is no built-in function '" + std::string(function) +
                         "': sum, min, max, count, first, last, bit_and, bit_or and bit_xor are");
}

std::string Reducer::Operand(std::string_view row) const {
  std::string operand = {kOperandTag, static_cast<char>(function_), static_cast<char>(type_)};
  operand.append(row);
  return operand;
}

std::string MergeStored(std::string_view stored, std::string_view operand) {
  std::string merged;
  std::string_view row = RowOf(stored);
  if (row.empty()) {
    AppendPlain(operand.substr(kOperandHead), &merged);
    return merged;
  }
  AppendPlain(row, &merged);
  CombineRows(operand, &merged, 1);
  return merged;
}

void MergeInto(std::string* stored, std::string_view operand) {
  if (stored->starts_with(kPlainTag))
    CombineRows(operand, stored, 1);
  else
    *stored = MergeStored(*stored, operand);  // stamped, or what RocksDB made of operands alone
}

void MergeOperandInto(std::string* operand, std::string_view newer) {
  CombineRows(newer, operand, kOperandHead);
}

std::shared_ptr<rocksdb::MergeOperator> NewReduceOperator() {
  return std::make_shared<ReduceOperator>();
}

}  // namespace flint
