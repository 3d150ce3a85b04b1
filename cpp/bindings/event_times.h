#pragma once

#include <string>

#include "base/arrow_column.h"
#include "base/status.h"
#include "state/stored_value.h"

namespace flint {

// A column of event times: timestamps of any unit, or int64 in milliseconds since 1970. Borrows
// what the column borrows.
class EventTimes {
 public:
  // Invalid, `what` named, for a column of another type.
  static Result<EventTimes> Make(const ColumnView& column, const std::string& what);

  // In milliseconds, parts of one rounded up; kNoTime where it is null.
  int64_t operator[](int64_t row) const {
    if (column_.MayHaveNulls() && column_.IsNull(row)) return kNoTime;
    int64_t value = column_.Values<int64_t>()[row];
    if (seconds_) return FromSeconds(value);
    return value / parts_ + (value % parts_ > 0 ? 1 : 0);
  }

 private:
  EventTimes(const ColumnView& column, TimeUnit unit);
  static int64_t FromSeconds(int64_t seconds);

  ColumnView column_;
  bool seconds_;
  int64_t parts_ = 1;  // of a millisecond
};

}  // namespace flint
