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

void CombineSlots(ReduceFunction function, TypeId type, std::string* rows, size_t from,
                  std::string_view newer) {
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

// `rows` holds a row from `from` on, into which the operand's row is combined. False, with nothing
// changed, where the row there is of another size than the operand's type has.
bool CombineRows(std::string_view operand, std::string* rows, size_t from) {
  auto type = static_cast<TypeId>(operand[2]);
  size_t slot = SlotSize(type);
  if (slot > 0 && rows->size() != from + kVersionByte + slot) return false;
  CombineSlots(static_cast<ReduceFunction>(operand[1]), type, rows, from,
               operand.substr(kOperandHead));
  return true;
}

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

// An operand into a stored value, or into an older operand of the same function and type.
bool MergeAny(std::string* older, std::string_view operand) {
  if (!IsOperand(operand)) return false;
  if (older->starts_with(kPlainTag) && older->size() > 1) return CombineRows(operand, older, 1);
  if (IsOperand(*older)) {
    bool alike =
        std::string_view(*older).substr(0, kOperandHead) == operand.substr(0, kOperandHead);
    return alike && CombineRows(operand, older, kOperandHead);
  }
  if (!IsStamped(*older)) return false;
  older->erase(1, kStampSize);
  older->front() = kPlainTag;
  return older->size() > 1 && CombineRows(operand, older, 1);
}

class ReduceOperator : public rocksdb::MergeOperator {
 public:
  const char* Name() const override { return "flintstate.reduce"; }

  // Where it refuses, it says that a merge is needed by reads alone: else it would stop every flush
  // and compaction from then on.
  bool FullMergeV2(const MergeOperationInput& in, MergeOperationOutput* out) const override {
    out->op_failure_scope = OpFailureScope::kMustMerge;
    size_t next = in.existing_value == nullptr ? 1 : 0;
    const rocksdb::Slice& first = next == 1 ? in.operand_list[0] : *in.existing_value;
    out->new_value.assign(first.data(), first.size());
    if (next == 1 && !IsOperand(out->new_value)) return false;
    for (; next < in.operand_list.size(); ++next) {
      const rocksdb::Slice& operand = in.operand_list[next];
      if (!MergeAny(&out->new_value, {operand.data(), operand.size()})) return false;
    }
    return true;
  }

  bool PartialMerge(const rocksdb::Slice&, const rocksdb::Slice& older, const rocksdb::Slice& newer,
                    std::string* merged, rocksdb::Logger*) const override {
    merged->assign(older.data(), older.size());
    return IsOperand(*merged) && MergeAny(merged, {newer.data(), newer.size()});
  }
};

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

bool IsOperand(std::string_view bytes) {
  if (bytes.size() <= kOperandHead || bytes[0] != kOperandTag) return false;
  auto function = static_cast<ReduceFunction>(bytes[1]);
  auto type = static_cast<TypeId>(bytes[2]);
  if (function < ReduceFunction::kSum || function > ReduceFunction::kBitXor) return false;
  if (type > TypeId::kDictionary || !Defined(function, type)) return false;
  size_t slot = SlotSize(type);
  return slot == 0 || bytes.size() == kOperandHead + kVersionByte + slot;
}

std::string MergeStored(std::string_view stored, std::string_view operand) {
  std::string merged;
  if (stored.empty()) {
    AppendPlain(operand.substr(kOperandHead), &merged);
    return merged;
  }
  std::string_view row = RowOf(stored);
  if (row.empty()) return std::string(stored);
  AppendPlain(row, &merged);
  CombineRows(operand, &merged, 1);  // what doesn't fit is found by who reads it
  return merged;
}

void MergeInto(std::string* stored, std::string_view operand) {
  if (stored->starts_with(kPlainTag) && stored->size() > 1)
    CombineRows(operand, stored, 1);
  else
    *stored = MergeStored(*stored, operand);  // stamped, or what RocksDB made of operands alone
}

void MergeOperandInto(std::string* operand, std::string_view newer) {
  CombineRows(newer, operand, kOperandHead);  // one state's: they are alike
}

std::shared_ptr<rocksdb::MergeOperator> NewReduceOperator() {
  return std::make_shared<ReduceOperator>();
}

}  // namespace flint
