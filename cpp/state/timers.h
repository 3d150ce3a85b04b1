#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/backend.h"
#include "state/ordered_table.h"

namespace flint {

struct DueTimer {
  int64_t time = 0;
  std::string key;    // canonical, as keys are
  std::string space;  // what follows the key: the encoded namespace
};

// The timers of one time domain: a set of (time, key, namespace), ordered within each key group.
// Kept as a state of its own. The first one of a group is sought from a bound that is remembered,
// not through what was removed before it. Belongs to its backend; one thread at a time.
class Timers {
 public:
  static Result<Timers> Open(Backend* backend, TimeDomain domain, const Schema& space);

  // Of the current key. `space` is an encoded namespace. Registering twice is registering once.
  Status Register(int64_t time, std::string_view space);
  Status Delete(int64_t time, std::string_view space);

  // Takes the earliest timer away, if its time is not after `until`; of equal times that of the
  // lowest key group, then key, then namespace.
  Result<std::optional<DueTimer>> TakeDue(int64_t until);
  Result<std::optional<int64_t>> First();

 private:
  // A time before which a group has no timer, and the group.
  using Bound = std::pair<int64_t, uint16_t>;

  Timers(Backend* backend, OrderedTable* table);
  std::string Suffix(int64_t time, std::string_view space) const;
  Result<OrderedScope*> ScopeOf(uint16_t group);
  // The earliest timer, still there; none after `until`.
  Result<std::optional<std::pair<uint16_t, std::string>>> Seek(int64_t until);
  // nullopt: it has no timer at all.
  void SetBound(uint16_t group, std::optional<int64_t> time);

  Backend* backend_;
  OrderedTable* table_;
  uint16_t first_group_;
  std::vector<std::optional<int64_t>> bounds_;  // by group
  std::set<Bound> order_;                       // those that there are
};

}  // namespace flint
