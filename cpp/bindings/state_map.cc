#include <deque>

#include "bindings/bindings.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
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
    Check(rows_->context().CheckKey());
    std::string suffix(entry_keys_.Encode(key));
    PackedCell packed(cells_, value);
    Check(rows_->Put(Unwrap(rows_->Current()), suffix, packed.row()));
  }

  void PutAll(py::handle entries) {
    Check(rows_->context().CheckKey());
    py::object pairs = py::reinterpret_borrow<py::object>(entries);
    if (py::hasattr(entries, "items")) pairs = entries.attr("items")();
    std::vector<std::pair<std::string, std::string>> packed;
    for (py::handle pair : py::iter(pairs)) {
      auto [key, value] = pair.cast<std::pair<py::object, py::object>>();
      std::string suffix(entry_keys_.Encode(key));
      packed.emplace_back(std::move(suffix), cells_.Pack(value));
    }
    for (const auto& [suffix, row] : packed) {
      Check(rows_->Put(Unwrap(rows_->Current()), suffix, row));
    }
  }

  void Remove(py::handle key) {
    Check(rows_->context().CheckKey());
    std::string suffix(entry_keys_.Encode(key));
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
    Check(rows_->context().CheckKey());
    std::string suffix(entry_keys_.Encode(key));
    std::string_view row;
    return Unwrap(rows_->Get(Unwrap(rows_->Current()), suffix, &row));
  }

  bool IsEmpty() {
    RowBlock page;
    bool more = false;
    Check(rows_->Read(Unwrap(rows_->Current()), {}, 1, &page, &more));
    return page.empty();
  }

  size_t Length() {
    size_t count = 0;
    SuffixRange range;
    bool more = true;
    while (more) {
      RowBlock page;
      Check(rows_->Read(Unwrap(rows_->Current()), range, kPageRows, &page, &more));
      count += page.size();
      if (more) range.from = page.Behind();
    }
    return count;
  }

  void Clear() { Check(rows_->Clear(Unwrap(rows_->Current()))); }

  py::object GetMany(py::handle keys, py::handle map_keys) {
    auto located = owner_->Locate(keys);
    KeyBatch suffixes = Suffixes(map_keys, located.keys.size());
    std::deque<std::string> found;
    std::vector<std::string_view> rows;
    for (size_t i = 0; i < located.keys.size(); ++i) {
      std::string_view row;
      bool there = Unwrap(rows_->Get(Unwrap(rows_->Of(located.keys[i])), suffixes.keys[i], &row));
      rows.push_back(there ? std::string_view(found.emplace_back(row)) : std::string_view());
    }
    return cells_.Array(rows);
  }

  void PutMany(py::handle keys, py::handle map_keys, py::handle values) {
    auto located = owner_->Locate(keys);
    KeyBatch suffixes = Suffixes(map_keys, located.keys.size());
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " values");
    Check(column.ForEach([&](int64_t row_number, std::string_view row) -> Status {
      auto i = static_cast<size_t>(row_number);
      FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, rows_->Of(located.keys[i]));
      return rows_->Put(scope, suffixes.keys[i], row);
    }));
  }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(rows_->Clear(Unwrap(rows_->Of(key))));
  }

 private:
  // A null object where there is no such entry.
  py::object Find(py::handle key) {
    Check(rows_->context().CheckKey());
    std::string suffix(entry_keys_.Encode(key));
    std::string_view row;
    if (!Unwrap(rows_->Get(Unwrap(rows_->Current()), suffix, &row))) return {};
    return cells_.Unpack(row);
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

// Goes through a map page by page, and stays with the key and namespace that it began with.
class MapIterator {
 public:
  MapIterator(std::shared_ptr<MapState> map, Part part) : map_(std::move(map)), part_(part) {
    StateContext& context = map_->rows().context();
    Check(context.CheckKey());
    key_ = context.key.bytes;
    place_ = {key_, context.key.hash, context.key.group};
    space_ = map_->rows().space();
  }

  py::object Next() {
    Check(map_->rows().context().health);
    while (true) {
      if (at_ == page_.size() && !ReadPage()) throw py::stop_iteration();
      std::string suffix(page_.suffix(at_++));
      std::string_view now;
      if (!Unwrap(map_->rows().Get(Scope(), suffix, &now))) continue;  // removed meanwhile
      last_ = suffix;
      removed_ = false;
      return Object(suffix, now);
    }
  }

  void Remove() {
    CheckStanding();
    Check(map_->rows().Remove(Scope(), *last_));
    removed_ = true;
  }

  void SetValue(py::handle value) {
    CheckStanding();
    std::string row = map_->cells().Pack(value);
    Check(map_->rows().Put(Scope(), *last_, row));
  }

 private:
  OrderedScope* Scope() {
    return Unwrap(map_->rows().Of({key_, place_.hash, place_.group}, space_));
  }

  bool ReadPage() {
    if (!more_) return false;
    std::string from = page_.empty() ? std::string() : page_.Behind();
    page_.Clear();
    at_ = 0;
    Check(map_->rows().Read(Scope(), {from, std::nullopt, false}, kPageRows, &page_, &more_));
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
  std::string key_;
  StateKey place_;
  std::string space_;
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
      .def("get_many", &MapState::GetMany, py::arg("keys"), py::arg("map_keys"))
      .def("put_many", &MapState::PutMany, py::arg("keys"), py::arg("map_keys"), py::arg("values"))
      .def("clear_many", &MapState::ClearMany, py::arg("keys"));
  BindMapping(bound);
}

}  // namespace flint
