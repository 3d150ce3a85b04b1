#include "bindings/state_many.h"

#include "bindings/event_times.h"

namespace flint {
std::vector<int64_t> ImportTimes(py::handle times, const std::string& what) {
  ImportedColumn column = ImportColumn(times, what);
  std::vector<int64_t> all;
  for (const OwnedArray& chunk : column.chunks) {
    ColumnView view = Unwrap(ColumnView::Make(column.field.type, *chunk));
    EventTimes given = Unwrap(EventTimes::Make(view, what));
    for (int64_t i = 0; i < view.size(); ++i) all.push_back(given[i]);
  }
  return all;
}

RowMoments::RowMoments(const StateTable& table, py::handle times, size_t size) : table_(table) {
  if (!times.is_none()) {
    const TimeToLive& ttl = table.expiry().ttl();
    if (!ttl.enabled() || ttl.domain != TimeDomain::kEvent) {
      Check(Status::Invalid(table.Label() +
                            " does not live by event time: leave times= out, or open it with "
                            "Ttl(event_time=True)"));
    }
    std::string what = table.Label() + " times";
    times_ = ImportTimes(times, what);
    if (times_.size() != size) {
      Check(Status::Invalid(what + ": " + std::to_string(times_.size()) + " given for " +
                            std::to_string(size) + " keys"));
    }
  }
  now_ = Unwrap(table.BeginMany());
}

Status RowMoments::CheckDated(size_t i) const {
  Status dated = table_.CheckDated(at(i));
  return times_.empty() ? dated : dated.WithContext("times: row " + std::to_string(i) + " is null");
}

void RowMoments::CheckAllDated(size_t size) const {
  for (size_t i = 0; event_time() && i < size; ++i) Check(CheckDated(i));
}

std::vector<std::string_view> TakeMany(BackendBinding* owner, PointTable* values,
                                       const std::vector<StateKey>& keys, py::handle times,
                                       std::deque<std::string>* kept) {
  RowMoments moments(*values, times, keys.size());
  std::vector<PointEntry*> entries;
  Check(owner->Apart([&] { return values->ReadMany(keys, &entries); }));
  bool stays = !values->expiry().ttl().enabled();  // else a read may change what one before saw
  std::vector<std::string_view> rows;
  rows.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    std::string_view row;
    if (!values->Take(entries[i], moments.at(i), &row)) row = {};
    rows.push_back(stays || row.data() == nullptr ? row : kept->emplace_back(row));
  }
  return rows;
}

}  // namespace flint
