#include "bindings/bindings.h"
#include "bindings/iterated_scope.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "bindings/state_many.h"
#include "state/entry_source.h"
#include "state/ordered_table.h"
#include "state/row_key.h"

namespace flint {
namespace {

std::string_view KeyOf(std::string_view suffix) {
  return suffix.substr(0, suffix.size() - kElementBytes);
}

class SortedState : public StateBinding {
 public:
  SortedState(std::shared_ptr<BackendBinding> owner, StateTable* table)
      : StateBinding(std::move(owner), table),
        rows_(static_cast<OrderedTable*>(table)),
        cells_(table->descriptor().value, Label() + " value"),
        sort_keys_(Unwrap(UserKeySchema(table->descriptor())), table->descriptor().user_key,
                   Label() + " key") {}

  OrderedTable& rows() { return *rows_; }
  const PythonCells& cells() const { return cells_; }
  const PythonKeys& sort_keys() const { return sort_keys_; }

  py::object ValuesAt(py::handle key) {
    std::string at = Encode(key);
    RowBlock rows = ReadEntry(Between(at, After(at)));
    return rows.empty() ? py::object(py::none()) : py::object(Values(rows));
  }

  void Add(py::handle key, py::handle value) {
    Undisturbed call(*rows_);
    std::string at(sort_keys_.Encode(key));
    CheckSome(value);
    PackedCell packed(cells_, value);
    call.Confirm();
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    Check(rows_->Append(scope, at, packed.row(), now));
  }

  void Put(py::handle key, py::handle values) {
    Undisturbed call(*rows_);
    std::string at(sort_keys_.Encode(key));
    std::vector<std::string> packed = PackAll(values);
    call.Confirm();
    Moment now;
    Check(rows_->Begin(&now));
    if (!packed.empty()) Check(rows_->CheckDated(now));
    for (const std::string& row : packed) {
      Check(rows_->CheckFits(at.size() + kElementBytes, row.size()));
    }
    Check(rows_->Clear(Unwrap(rows_->Current()), Between(at, After(at))));
    for (const std::string& row : packed) {
      Check(rows_->Append(Unwrap(rows_->Current()), at, row, now));
    }
  }

  py::object FirstEntry(py::handle from) {
    return Edge({from.is_none() ? std::string() : Encode(from), std::nullopt, false});
  }

  py::object LastEntry(py::handle to) {
    SuffixRange range;
    range.reverse = true;
    if (!to.is_none()) range.to = After(Encode(to));
    return Edge(range);
  }

  SuffixRange Range(py::handle from, py::handle to, bool inclusive) {
    std::string low = Encode(from);
    std::string high = Encode(to);
    return Between(low, inclusive ? After(high) : std::optional(high));
  }
  SuffixRange Until(py::handle to, bool inclusive) {
    std::string high = Encode(to);
    return Between("", inclusive ? After(high) : std::optional(high));
  }
  SuffixRange From(py::handle from) { return Between(Encode(from), std::nullopt); }

  std::unique_ptr<OrderedScan> Scan(SuffixRange range) {
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    return Unwrap(rows_->Scan(scope, std::move(range), rows_->expiry().HiddenAt(now)));
  }

  void ClearRange(const SuffixRange& range) {
    Check(rows_->Clear(Unwrap(rows_->Current()), range));
  }
  void ClearEntryAt(py::handle key) {
    std::string at = Encode(key);
    ClearRange(Between(at, After(at)));
  }
  void Clear() { ClearRange({}); }

  void AddMany(py::handle keys, py::handle sort_keys, py::handle values, py::handle times) {
    auto located = owner_->Locate(keys);
    KeyBatch at =
        EncodeKeyColumn(sort_keys_.schema(), sort_keys_.declared(), sort_keys, Label() + " keys");
    if (at.keys.size() != located.keys.size()) {
      Check(Status::Invalid(Label() + " keys: " + std::to_string(at.keys.size()) + " given for " +
                            std::to_string(located.keys.size()) + " keys"));
    }
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " values");
    Check(column.RefuseNulls(Label() + " values"));
    RowMoments moments(*rows_, times, located.keys.size());
    moments.CheckAllDated(located.keys.size());
    CheckFits(*rows_, located, column, [&](size_t i) { return at.keys[i].size() + kElementBytes; });
    Check(column.ForEach([&](int64_t row_number, std::string_view row) -> Status {
      auto i = static_cast<size_t>(row_number);
      FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, rows_->Of(located.keys[i]));
      return rows_->Append(scope, at.keys[i], row, moments.at(i));
    }));
  }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(rows_->Clear(Unwrap(rows_->Of(key))));
  }

  py::list Values(const RowBlock& rows) const {
    py::list values;
    for (size_t i = 0; i < rows.size(); ++i) values.append(cells_.Unpack(RowOf(rows.stored(i))));
    return values;
  }

 private:
  static SuffixRange Between(std::string from, std::optional<std::string> to) {
    return {std::move(from), std::move(to), false};
  }
  // The bound behind all elements at a key.
  static std::optional<std::string> After(const std::string& key) { return PrefixSuccessor(key); }

  std::string Encode(py::handle key) {
    Undisturbed call(*rows_);
    std::string at(sort_keys_.Encode(key));
    call.Confirm();
    return at;
  }

  std::vector<std::string> PackAll(py::handle values) const {
    if (values.is_none() || py::isinstance<py::str>(values) || py::isinstance<py::bytes>(values)) {
      std::string given = py::repr(values);
      Check(Status::Invalid(Label() + ": " + given + " is no list of values"));
    }
    std::vector<std::string> packed;
    for (py::handle value : py::iter(values)) {
      CheckSome(value);
      packed.push_back(cells_.Pack(value));
    }
    return packed;
  }

  void CheckSome(py::handle value) const {
    if (value.is_none()) Check(Status::Invalid(Label() + ": None can't be a value"));
  }

  // All values at the key of the range's first row.
  RowBlock ReadEntry(const SuffixRange& range) {
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    RowBlock rows;
    Check(rows_->ReadAlike(scope, range, kElementBytes, now, &rows));
    return rows;
  }

  py::object Edge(const SuffixRange& range) {
    RowBlock rows = ReadEntry(range);
    if (rows.empty()) return py::none();
    return py::make_tuple(sort_keys_.Decode(KeyOf(rows.suffix(0))), Values(rows));
  }

  OrderedTable* rows_;
  PythonCells cells_;
  PythonKeys sort_keys_;
};

// Entries as of the start: a key with all its values at a time. What is returned is refreshed or
// taken away when it is returned, if it is still there.
class SortedIterator {
 public:
  SortedIterator(std::shared_ptr<SortedState> state, SuffixRange range, bool reverse,
                 std::optional<int64_t> limit)
      : state_(std::move(state)),
        reverse_(reverse),
        limit_(limit.value_or(INT64_MAX)),
        scope_(&state_->rows()) {
    if (limit_ < 0) {
      Check(Status::Invalid("sorted state '" + state_->name() + "': a limit of " +
                            std::to_string(limit_) + " entries is negative"));
    }
    range.reverse = reverse;
    scan_ = state_->Scan(std::move(range));
    Advance();
  }

  py::object Next() {
    if (limit_ == 0 || !more_) throw py::stop_iteration();
    Moment now = Unwrap(state_->rows().BeginMany());
    --limit_;
    key_.assign(KeyOf(suffix_));
    py::list values;
    while (more_ && KeyOf(suffix_) == key_) {
      values.append(state_->cells().Unpack(RowOf(stored_)));
      Touch(now);
      Advance();
    }
    if (reverse_) values.attr("reverse")();
    return py::make_tuple(state_->sort_keys().Decode(key_), values);
  }

 private:
  void Touch(const Moment& now) {
    const TimeToLive& ttl = state_->rows().expiry().ttl();
    if (!ttl.refresh_on_read && !ttl.return_expired) return;
    std::string_view row;
    Unwrap(state_->rows().Get(scope_.Get(), suffix_, now, &row));
  }
  void Advance() { more_ = Unwrap(scan_->Next(&suffix_, &stored_)); }

  std::shared_ptr<SortedState> state_;
  bool reverse_;
  int64_t limit_;
  IteratedScope scope_;
  std::unique_ptr<OrderedScan> scan_;
  bool more_ = false;
  std::string_view suffix_;  // of the row that comes next
  std::string_view stored_;
  std::string key_;
};

using Self = std::shared_ptr<SortedState>;
using Limit = std::optional<int64_t>;

SortedIterator ReadRange(Self self, py::handle from, py::handle to, bool inclusive, bool reverse,
                         Limit limit) {
  SuffixRange range = self->Range(from, to, inclusive);
  return SortedIterator(std::move(self), std::move(range), reverse, limit);
}

SortedIterator ReadUntil(Self self, py::handle to, bool inclusive, bool reverse, Limit limit) {
  SuffixRange range = self->Until(to, inclusive);
  return SortedIterator(std::move(self), std::move(range), reverse, limit);
}

SortedIterator ReadFrom(Self self, py::handle from, bool reverse, Limit limit) {
  SuffixRange range = self->From(from);
  return SortedIterator(std::move(self), std::move(range), reverse, limit);
}

void BindRanges(py::class_<SortedState, StateBinding, Self>& bound) {
  bound
      .def("read_range", &ReadRange, py::arg("from_key"), py::arg("to_key"),
           py::arg("inclusive_to") = false, py::kw_only(), py::arg("reverse") = false,
           py::arg("limit") = py::none())
      .def("read_range_until", &ReadUntil, py::arg("to_key"), py::arg("inclusive_to") = false,
           py::kw_only(), py::arg("reverse") = false, py::arg("limit") = py::none())
      .def("read_range_from", &ReadFrom, py::arg("from_key"), py::kw_only(),
           py::arg("reverse") = false, py::arg("limit") = py::none())
      .def(
          "clear_range",
          [](SortedState& self, py::handle from, py::handle to, bool inclusive) {
            self.ClearRange(self.Range(from, to, inclusive));
          },
          py::arg("from_key"), py::arg("to_key"), py::arg("inclusive_to") = false)
      .def(
          "clear_range_until",
          [](SortedState& self, py::handle to, bool inclusive) {
            self.ClearRange(self.Until(to, inclusive));
          },
          py::arg("to_key"), py::arg("inclusive_to") = false)
      .def(
          "clear_range_from",
          [](SortedState& self, py::handle from) { self.ClearRange(self.From(from)); },
          py::arg("from_key"));
}

}  // namespace

py::object OpenSortedState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                           const py::object& ttl) {
  StateTable* table = owner->Open(descriptor, ttl);
  return py::cast(std::make_shared<SortedState>(std::move(owner), table));
}

void BindStateSorted(py::module_& m) {
  py::class_<SortedIterator>(m, "RocksSortedIterator")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &SortedIterator::Next);
  py::class_<SortedState, StateBinding, Self> bound(m, "RocksSortedState");
  bound.def("values_at", &SortedState::ValuesAt, py::arg("key"))
      .def("add", &SortedState::Add, py::arg("key"), py::arg("value"))
      .def("put", &SortedState::Put, py::arg("key"), py::arg("values"))
      .def("first_entry", &SortedState::FirstEntry, py::arg("from_key") = py::none())
      .def("last_entry", &SortedState::LastEntry, py::arg("to_key") = py::none())
      .def("clear_entry_at", &SortedState::ClearEntryAt, py::arg("key"))
      .def("clear", &SortedState::Clear)
      .def("add_many", &SortedState::AddMany, py::arg("keys"), py::arg("sort_keys"),
           py::arg("values"), py::kw_only(), py::arg("times") = py::none())
      .def("clear_many", &SortedState::ClearMany, py::arg("keys"));
  BindRanges(bound);
}

}  // namespace flint
