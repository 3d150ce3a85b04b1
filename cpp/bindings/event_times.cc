#include "bindings/event_times.h"

#include <limits>

namespace flint {

EventTimes::EventTimes(const ColumnView& column, TimeUnit unit)
    : column_(column), seconds_(unit == TimeUnit::kSecond) {
  if (unit == TimeUnit::kMicro) parts_ = 1000;
  if (unit == TimeUnit::kNano) parts_ = 1'000'000;
}

Result<EventTimes> EventTimes::Make(const ColumnView& column, const std::string& what) {
  const DataType& type = column.type();
  if (type.id == TypeId::kTimestamp) return EventTimes(column, type.unit);
  if (type.id == TypeId::kInt64) return EventTimes(column, TimeUnit::kMilli);
  return Status::Invalid(what + ": " + type.ToString() +
                         " given; timestamps are wanted, or int64 in milliseconds since 1970");
}

int64_t EventTimes::FromSeconds(int64_t seconds) {
  int64_t milliseconds;
  if (!__builtin_mul_overflow(seconds, int64_t{1000}, &milliseconds)) return milliseconds;
  return seconds > 0 ? std::numeric_limits<int64_t>::max() : kNoTime + 1;
}

}  // namespace flint
