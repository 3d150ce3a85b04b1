#include "state/state_table.h"

#include "key/xxh64.h"

namespace flint {

void StateTable::SetSpace(std::string_view encoded) {
  space_ = encoded;
  space_hash_ = Xxh64(encoded, 0);
  located_epoch_ = 0;
}

Status StateTable::AskTime(Moment* now) const {
  CallPlace before = place();
  *now = expiry().Now();
  return CheckStillAt(before);
}

Result<Moment> StateTable::BeginMany() const {
  FLINT_RETURN_IF_ERROR(context_->CheckUsable());
  if (!expiry().ttl().enabled()) return Moment();
  uint64_t writes = metrics_.writes;
  Moment now = expiry().Now();
  FLINT_RETURN_IF_ERROR(context_->CheckUsable());
  if (metrics_.writes != writes) return WasMoved(place());
  return now;
}

Status StateTable::WasMoved(const CallPlace& place) const {
  std::string what = place.key != context_->key.hash ? "the current key was changed"
                     : place.space != space_hash_    ? "its namespace was changed"
                                                     : "it was written to";
  return Status::Invalid(Label() + ": " + what +
                         " by code that ran in the middle of a call on it (a function, codec, "
                         "clock, generator or conversion); do that before the call or after it");
}

Status StateTable::Undated() const {
  return Status::Invalid(Label() +
                         " lives by event time, and there is none for what is written: the row's "
                         "time is null, or set_event_time was not called (in calls with many keys: "
                         "give times=)");
}

}  // namespace flint
