#pragma once

#include <rocksdb/merge_operator.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// The functions that a reducing state can have without a line of Python. All are total: integers
// wrap, so that a merge can't fail.
enum class ReduceFunction : uint8_t {
  kSum = 1,
  kMin = 2,
  kMax = 3,
  kCount = 4,  // operands are counts, and are added
  kFirst = 5,
  kLast = 6,
  kBitAnd = 7,
  kBitOr = 8,
  kBitXor = 9,
};

// How two accumulators become one: a function, and the type of the one column in their rows. Made
// where functions and types have been checked.
class Reducer {
 public:
  // Invalid where there is no such function, or it isn't defined for `type`; with what is.
  static Result<Reducer> Make(std::string_view function, const DataType& type);

  ReduceFunction function() const { return function_; }
  TypeId type() const { return type_; }
  // An operand as it is stored until it is merged: it says by itself how.
  std::string Operand(std::string_view row) const;

 private:
  Reducer(ReduceFunction function, TypeId type) : function_(function), type_(type) {}

  ReduceFunction function_;
  TypeId type_;
};

// Whether bytes are an operand, whole and of a function that its type has. Nobody vouches for what
// comes from files; the three below require operands, and leave a damaged value as it is.
bool IsOperand(std::string_view bytes);

// The value `stored` (empty: none) with `operand` merged into it, as it is to be stored.
std::string MergeStored(std::string_view stored, std::string_view operand);
// The same in place.
void MergeInto(std::string* stored, std::string_view operand);
// Two operands, the older one in place.
void MergeOperandInto(std::string* operand, std::string_view newer);

// For every family of a backend: operands say what they are, so it needs no knowledge of states.
// Bytes that are no operand, or don't fit the value, fail the reads of their key alone: flush and
// compaction pass them on as they are.
std::shared_ptr<rocksdb::MergeOperator> NewReduceOperator();

}  // namespace flint
