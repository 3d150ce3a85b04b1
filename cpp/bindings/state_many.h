#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/state_common.h"
#include "state/point_table.h"

namespace flint {

// A column of event times, in milliseconds since 1970; kNoTime for nulls.
std::vector<int64_t> ImportTimes(py::handle times, const std::string& what);

// What time it is for each row of a call that names its keys: by `times`, else for all the same.
// Made when everything else was taken in, and before anything is touched.
class RowMoments {
 public:
  // Throws Invalid where there are not `size` times, or times at all for a state that does not live
  // by event time.
  RowMoments(const StateTable& table, py::handle times, size_t size);

  Moment at(size_t i) const { return times_.empty() ? now_ : table_.expiry().At(times_[i]); }
  bool event_time() const { return now_.event_time; }
  // The time of a row in event time; kNoTime if it has none.
  int64_t time(size_t i) const { return times_.empty() ? now_.stamp : times_[i]; }
  // Invalid where row i, which is to be written, has no time in event time.
  Status CheckDated(size_t i) const;
  void CheckAllDated(size_t size) const;

 private:
  const StateTable& table_;
  std::vector<int64_t> times_;
  Moment now_;
};

// Throws Invalid where a row of the column can't be kept in the state, under the key of the same
// number and `suffix_bytes(i)` behind that: before any of them is written.
template <class SuffixBytes>
void CheckFits(const StateTable& table, const BackendBinding::Located& located,
               const CellColumn& column, SuffixBytes suffix_bytes) {
  if (!column.NeedsLook()) return;
  Check(column.ForEach([&](int64_t row_number, std::string_view row) {
    auto i = static_cast<size_t>(row_number);
    return table.CheckFits(located.batch.keys[i].size(), suffix_bytes(i), row.size());
  }));
}

// What the keys' values are, as rows; without a data pointer where there is none. `kept` is where
// those are that can't stay in the cache.
std::vector<std::string_view> TakeMany(BackendBinding* owner, PointTable* values,
                                       const std::vector<StateKey>& keys, py::handle times,
                                       std::deque<std::string>* kept);

}  // namespace flint
