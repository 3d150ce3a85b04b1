#pragma once

#include "base/arrow_abi.h"
#include "base/arrow_column.h"
#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// Values of one type as values of another that are exactly the same: an int64 in an int32 column, a
// timestamp[ns] of whole microseconds, integers that became floats since some were missing, nulls
// without a type, and these within structs and lists. Never rounded, cut or wrapped.

// Whether some values of `from` may be exactly values of `to`: more than DataType::SameValues says.
bool MayCast(const DataType& from, const DataType& to);

// The column as an array of `to.Plain()`. Requires MayCast of its type. Invalid, by row and value,
// where a value has no equal.
Result<OwnedArray> CastExactly(const ColumnView& column, const DataType& to);

}  // namespace flint
