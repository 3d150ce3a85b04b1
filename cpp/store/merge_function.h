#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/arrow_type.h"
#include "base/status.h"
#include "row/layout.h"

namespace flint {

// What a merge makes of a column's older and newer value. All are associative, so that they may be
// applied to any neighbours, and total, since a merge is applied long after it was acknowledged:
// integers wrap. A null takes no part, but in kReplace.
enum class MergeFunction : uint8_t {
  kReplace,  // the newer, even if null: columns for which nothing else was asked
  kAppend,   // strings, binaries, lists
  kSum,      // integers, floats, decimals, durations
  kMin,      // numbers, times, strings and binaries (as bytes)
  kMax,
  kCount,  // int64: how many rows were merged, whatever they hold
  kFirst,
  kLast,
  kBitAnd,  // integers
  kBitOr,
  kBitXor,
};

// "append", "sum", "min", "max", "count", "first", "last", "bit_and", "bit_or", "bit_xor".
Result<MergeFunction> ParseMergeFunction(std::string_view name);
std::string_view MergeFunctionName(MergeFunction function);

// Invalid where `function` has no meaning for values of the column, saying for which it has.
Status CheckMergeFunction(MergeFunction function, const Field& column);

// Combines two values that are not null, as stored (docs/format/row.md), into `out`, which neither
// of them may lie in. False where one is damaged or the result is longer than a row may be.
bool MergeValues(MergeFunction function, const ValueLayout& layout, std::string_view older,
                 std::string_view newer, std::string* out);

}  // namespace flint
