// What goes across the keys of a backend: the entries and keys of a state, timers.

#include <algorithm>

#include "bindings/state_bindings.h"
#include "state/entry_source.h"

namespace flint {
namespace {

using Owner = std::shared_ptr<BackendBinding>;

StateTable* TableOf(BackendBinding& self, const std::string& name) {
  self.CheckNotBusy();
  Check(self.context().health);
  for (StateTable* table : self.backend().tables()) {
    if (table->descriptor().name == name) return table;
  }
  Check(Status::NotFound("there is no open state '" + name + "'"));
  return nullptr;
}

// The keys of one namespace of a state, as of the start.
struct KeyIterator {
  Owner owner;
  KeyScan scan;

  py::object Next() {
    auto key = Unwrap(scan.Next());
    if (!key) throw py::stop_iteration();
    return owner->keys().Decode(*key);
  }
};

KeyIterator Keys(Owner self, const StateBinding& state, py::handle space) {
  StateTable* table = TableOf(*self, state.name());
  std::string encoded = const_cast<StateBinding&>(state).EncodeSpace(space);
  auto scan = Unwrap(KeyScan::Open(&self->backend(), table, std::move(encoded)));
  return {std::move(self), std::move(scan)};
}

// Of any state in the catalogue: one that nobody has opened yet is read as it is stored.
StateTable* StoredTableOf(BackendBinding& self, const std::string& name) {
  self.CheckNotBusy();
  const StateEntry* entry = self.backend().FindState(name);
  const std::vector<StateTable*> open = self.backend().tables();
  const bool opened = std::any_of(open.begin(), open.end(), [&](StateTable* table) {
    return table->descriptor().name == name;
  });
  if (entry == nullptr || opened) return TableOf(self, name);
  return Unwrap(self.backend().OpenState(StateDescriptor(entry->descriptor), TimeToLive{}));
}

ExportedStream Entries(BackendBinding& self, const std::string& name) {
  StateTable* table = StoredTableOf(self, name);
  return {Unwrap(EntrySource::Open(&self.backend(), table, self.keys().declared()))};
}

py::dict Metrics(BackendBinding& self) {
  py::dict all;
  for (StateTable* table : self.backend().tables()) {
    if (table->descriptor().kind == StateKind::kTimers) continue;
    const StateMetrics& counted = table->metrics();
    py::dict one;
    one["reads"] = counted.reads;
    one["writes"] = counted.writes;
    one["cache_hits"] = counted.cache_hits;
    one["store_reads"] = counted.store_reads;
    one["bytes_read"] = counted.bytes_read;
    one["bytes_written"] = counted.bytes_written;
    all[py::str(table->descriptor().name)] = one;
  }
  return all;
}

TimeDomain Domain(bool event_time) {
  return event_time ? TimeDomain::kEvent : TimeDomain::kProcessing;
}

// (time, key, namespace) of the timer that was taken, its key the current one; None: none is due.
py::object TakeTimer(BackendBinding& self, bool event_time, int64_t until) {
  auto due = Unwrap(self.TimersOf(Domain(event_time)).TakeDue(until));
  if (!due) {
    self.LeaveTimers();
    return py::none();
  }
  self.EnterTimer(*due, Domain(event_time));
  return py::make_tuple(due->time, self.keys().Decode(due->key), self.DecodeTimerSpace(due->space));
}

}  // namespace

void BindStateScans(py::class_<BackendBinding, Owner>& backend, py::module_& m) {
  py::class_<KeyIterator>(m, "RocksKeyIterator")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &KeyIterator::Next);
  backend.def("keys", &Keys, py::arg("state"), py::arg("namespace") = py::none())
      .def("entries", &Entries, py::arg("name"))
      .def("metrics", &Metrics);
}

void BindTimers(py::class_<BackendBinding, Owner>& backend) {
  backend
      .def(
          "register_timer",
          [](BackendBinding& self, int64_t time, py::handle space, bool event_time) {
            Check(self.TimersOf(Domain(event_time)).Register(time, self.EncodeTimerSpace(space)));
          },
          py::arg("time"), py::arg("namespace"), py::kw_only(), py::arg("event_time"))
      .def(
          "delete_timer",
          [](BackendBinding& self, int64_t time, py::handle space, bool event_time) {
            Check(self.TimersOf(Domain(event_time)).Delete(time, self.EncodeTimerSpace(space)));
          },
          py::arg("time"), py::arg("namespace"), py::kw_only(), py::arg("event_time"))
      .def(
          "first_timer",
          [](BackendBinding& self, bool event_time) {
            return Unwrap(self.TimersOf(Domain(event_time)).First());
          },
          py::kw_only(), py::arg("event_time"))
      .def(
          "take_timer",
          [](BackendBinding& self, int64_t until, bool event_time) {
            return TakeTimer(self, event_time, until);
          },
          py::arg("until"), py::kw_only(), py::arg("event_time"))
      .def(
          "advance_watermark",
          [](BackendBinding& self, int64_t time) { self.context().clock->AdvanceWatermark(time); },
          py::arg("time"))
      .def(
          "set_event_time",
          [](BackendBinding& self, std::optional<int64_t> time) {
            Check(self.context().CheckUsable());
            self.context().clock->SetRowTime(time.value_or(kNoTime));
          },
          py::arg("time"))
      .def_property_readonly("event_time", [](BackendBinding& self) {
        int64_t time = self.context().clock->row_time();
        return time == kNoTime ? std::nullopt : std::optional(time);
      });
}

}  // namespace flint
