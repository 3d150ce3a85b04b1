#include <deque>

#include "bindings/bindings.h"
#include "bindings/iterated_scope.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "bindings/state_many.h"
#include "state/entry_source.h"
#include "state/ordered_table.h"

namespace flint {
namespace {

constexpr size_t kPageRows = 256;

class MapState : public StateBinding {
 public:
  MapState(std::shared_ptr<BackendBinding> owner, StateTable* table)
      : StateBinding(std::move(owner), table),
        rows_(static_cast<OrderedTable*>(table)),
        cells_(table->descriptor().value, Label() + " value"),
        entry_keys_(Unwrap(UserKeySchema(table->descriptor())), table->descriptor().user_key,
                    Label() + " key") {}

  OrderedTable& rows() { return *rows_; }
  const PythonCells& cells() const { return cells_; }
  const PythonKeys& entry_keys() const { return entry_keys_; }

  py::object Get(py::handle key, py::object default_value) {
    py::object found = Find(key);
    return found ? found : default_value;
  }

  py::object GetItem(py::handle key) {
    py::object found = Find(key);
    if (!found) {
      py::set_error(PyExc_KeyError, key);
      throw py::error_already_set();
    }
    return found;
  }

  void Put(py::handle key, py::handle value) {
    Undisturbed call(*rows_);
    std::string suffix(entry_keys_.Encode(key));
    PackedCell packed(cells_, value);
    call.Confirm();
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    Check(rows_->Put(scope, suffix, packed.row(), now));
  }

  void PutAll(py::handle entries) {
    auto packed = PackAll(entries);
    Moment now;
    Check(rows_->Begin(&now));
    for (const auto& [suffix, row] : packed) {
      Check(rows_->Put(Unwrap(rows_->Current()), suffix, row, now));
    }
  }

  void Remove(py::handle key) {
    std::string suffix = Suffix(key);
    Check(rows_->Remove(Unwrap(rows_->Current()), suffix));
  }

  void DeleteItem(py::handle key) {
    GetItem(key);
    Remove(key);
  }

  py::object Pop(py::handle key) {
    py::object found = GetItem(key);
    Remove(key);
    return found;
  }

  py::object PopOr(py::handle key, py::object default_value) {
    py::object found = Find(key);
    if (!found) return default_value;
    Remove(key);
    return found;
  }

  py::object SetDefault(py::handle key, py::handle default_value) {
    py::object found = Find(key);
    if (found) return found;
    Put(key, default_value);
    return Find(key);
  }

  bool Contains(py::handle key) {
    std::string_view row;
    return FindRow(key, &row);
  }

  // Looks alone, which refresh nothing and take nothing away.
  bool IsEmpty() {
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    RowBlock page;
    bool more = false;
    Check(rows_->Peek(scope, {}, 1, now.horizon, &page, &more));
    return page.empty();
  }

  size_t Length() {
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    size_t count = 0;
    SuffixRange range;
    bool more = true;
    while (more) {
      RowBlock page;
      Check(rows_->Peek(scope, range, kPageRows, now.horizon, &page, &more));
      count += page.size();
      if (more) range.from = page.Behind();
    }
    return count;
  }

  void Clear() { Check(rows_->Clear(Unwrap(rows_->Current()))); }

  py::object GetMany(py::handle keys, py::handle map_keys, py::handle times) {
    auto located = owner_->Locate(keys);
    KeyBatch suffixes = Suffixes(map_keys, located.keys.size());
    RowMoments moments(*rows_, times, located.keys.size());
    std::deque<std::string> found;
    std::vector<std::string_view> rows;
    for (size_t i = 0; i < located.keys.size(); ++i) {
      std::string_view row;
      OrderedScope* scope = Unwrap(rows_->Of(located.keys[i]));
      bool there = Unwrap(rows_->Get(scope, suffixes.keys[i], moments.at(i), &row));
      rows.push_back(there ? std::string_view(found.emplace_back(row)) : std::string_view());
    }
    return cells_.Array(rows);
  }

  void PutMany(py::handle keys, py::handle map_keys, py::handle values, py::handle times) {
    auto located = owner_->Locate(keys);
    KeyBatch suffixes = Suffixes(map_keys, located.keys.size());
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " values");
    RowMoments moments(*rows_, times, located.keys.size());
    moments.CheckAllDated(located.keys.size());
    CheckFits(*rows_, located, column, [&](size_t i) { return suffixes.keys[i].size(); });
    Check(column.ForEach([&](int64_t row_number, std::string_view row) -> Status {
      auto i = static_cast<size_t>(row_number);
      FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, rows_->Of(located.keys[i]));
      return rows_->Put(scope, suffixes.keys[i], row, moments.at(i));
    }));
  }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(rows_->Clear(Unwrap(rows_->Of(key))));
  }

 private:
  // A null object where there is no such entry.
  py::object Find(py::handle key) {
    std::string_view row;
    return FindRow(key, &row) ? cells_.Unpack(row) : py::object();
  }

  bool FindRow(py::handle key, std::string_view* row) {
    std::string suffix = Suffix(key);
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    return Unwrap(rows_->Get(scope, suffix, now, row));
  }

  std::string Suffix(py::handle key) {
    Undisturbed call(*rows_);
    std::string suffix(entry_keys_.Encode(key));
    call.Confirm();
    return suffix;
  }

  // All of the caller's code runs here.
  std::vector<std::pair<std::string, std::string>> PackAll(py::handle entries) {
    Undisturbed call(*rows_);
    py::object pairs = py::reinterpret_borrow<py::object>(entries);
    if (py::hasattr(entries, "items")) pairs = entries.attr("items")();
    std::vector<std::pair<std::string, std::string>> packed;
    for (py::handle pair : py::iter(pairs)) {
      auto [key, value] = pair.cast<std::pair<py::object, py::object>>();
      std::string suffix(entry_keys_.Encode(key));
      packed.emplace_back(std::move(suffix), cells_.Pack(value));
      Check(rows_->CheckFits(packed.back().first.size(), packed.back().second.size()));
    }
    call.Confirm();
    return packed;
  }

  KeyBatch Suffixes(py::handle map_keys, size_t count) {
    KeyBatch batch =
        EncodeKeyColumn(entry_keys_.schema(), entry_keys_.declared(), map_keys, Label() + " keys");
    if (batch.keys.size() != count) {
      Check(Status::Invalid(Label() + " keys: " + std::to_string(batch.keys.size()) +
                            " given for " + std::to_string(count) + " keys"));
    }
    return batch;
  }

  OrderedTable* rows_;
  PythonCells cells_;
  PythonKeys entry_keys_;
};

enum class Part { kItem, kKey, kValue };

// Goes through a map page by page, and stays with the key and namespace that it began with. What
// was read ahead is neither refreshed nor taken away before it is returned.
class MapIterator {
 public:
  MapIterator(std::shared_ptr<MapState> map, Part part)
      : map_(std::move(map)), part_(part), scope_(&map_->rows()) {}

  py::object Next() {
    Moment now = Unwrap(map_->rows().BeginMany());
    while (true) {
      if (at_ == page_.size() && !ReadPage(now)) throw py::stop_iteration();
      std::string suffix(page_.suffix(at_++));
      std::string_view row;
      if (!Unwrap(map_->rows().Get(scope_.Get(), suffix, now, &row))) continue;  // gone by now
      last_ = suffix;
      removed_ = false;
      return Object(suffix, row);
    }
  }

  void Remove() {
    CheckStanding();
    Check(map_->rows().Remove(scope_.Get(), *last_));
    removed_ = true;
  }

  void SetValue(py::handle value) {
    Undisturbed call(map_->rows());
    std::string row = map_->cells().Pack(value);
    call.Confirm();
    Moment now = Unwrap(map_->rows().BeginMany());
    CheckStanding();
    Check(map_->rows().Put(scope_.Get(), *last_, row, now));
  }

 private:
  bool ReadPage(const Moment& now) {
    if (!more_) return false;
    std::string from = page_.empty() ? std::string() : page_.Behind();
    page_.Clear();
    at_ = 0;
    OrderedTable& rows = map_->rows();
    Check(rows.Peek(scope_.Get(), {from, std::nullopt, false}, kPageRows,
                    rows.expiry().HiddenAt(now), &page_, &more_));
    return !page_.empty();
  }

  py::object Object(std::string_view suffix, std::string_view row) const {
    if (part_ == Part::kKey) return map_->entry_keys().Decode(suffix);
    py::object value = map_->cells().Unpack(row);
    if (part_ == Part::kValue) return value;
    return py::make_tuple(map_->entry_keys().Decode(suffix), value);
  }

  void CheckStanding() const {
    if (!last_) Check(Status::Invalid("the iterator has returned no entry yet"));
    if (removed_) Check(Status::Invalid("the entry that was returned last is removed already"));
  }

  std::shared_ptr<MapState> map_;
  Part part_;
  IteratedScope scope_;
  RowBlock page_;
  size_t at_ = 0;
  bool more_ = true;
  std::optional<std::string> last_;
  bool removed_ = false;
};

template <Part part>
MapIterator Iterate(std::shared_ptr<MapState> map) {
  return MapIterator(std::move(map), part);
}

void BindMapping(py::class_<MapState, StateBinding, std::shared_ptr<MapState>>& bound) {
  bound.def("__getitem__", &MapState::GetItem, py::arg("key"))
      .def("__setitem__", &MapState::Put, py::arg("key"), py::arg("value"))
      .def("__delitem__", &MapState::DeleteItem, py::arg("key"))
      .def("__contains__", &MapState::Contains, py::arg("key"))
      .def("__len__", &MapState::Length)
      .def("__iter__", &Iterate<Part::kKey>)
      .def("pop", &MapState::Pop, py::arg("key"))
      .def("pop", &MapState::PopOr, py::arg("key"), py::arg("default"))
      .def("setdefault", &MapState::SetDefault, py::arg("key"), py::arg("default") = py::none())
      .def("update", &MapState::PutAll, py::arg("entries"));
}

}  // namespace

py::object OpenMapState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                        const py::object& ttl) {
  StateTable* table = owner->Open(descriptor, ttl);
  return py::cast(std::make_shared<MapState>(std::move(owner), table));
}

void BindStateMap(py::module_& m) {
  py::class_<MapIterator>(m, "RocksMapIterator")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &MapIterator::Next)
      .def("remove", &MapIterator::Remove)
      .def("set_value", &MapIterator::SetValue, py::arg("value"));
  py::class_<MapState, StateBinding, std::shared_ptr<MapState>> bound(m, "RocksMapState");
  bound.def("get", &MapState::Get, py::arg("key"), py::arg("default") = py::none())
      .def("put", &MapState::Put, py::arg("key"), py::arg("value"))
      .def("put_all", &MapState::PutAll, py::arg("entries"))
      .def("remove", &MapState::Remove, py::arg("key"))
      .def("contains", &MapState::Contains, py::arg("key"))
      .def("items", &Iterate<Part::kItem>)
      .def("keys", &Iterate<Part::kKey>)
      .def("values", &Iterate<Part::kValue>)
      .def("is_empty", &MapState::IsEmpty)
      .def("clear", &MapState::Clear)
      .def("get_many", &MapState::GetMany, py::arg("keys"), py::arg("map_keys"), py::kw_only(),
           py::arg("times") = py::none())
      .def("put_many", &MapState::PutMany, py::arg("keys"), py::arg("map_keys"), py::arg("values"),
           py::kw_only(), py::arg("times") = py::none())
      .def("clear_many", &MapState::ClearMany, py::arg("keys"));
  BindMapping(bound);
}

}  // namespace flint
