#include "bindings/bindings.h"
#include "bindings/fast_method.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "state/point_table.h"

namespace flint {
namespace {

bool IsImmutable(py::handle value) {
  PyObject* object = value.ptr();
  return object == Py_None || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyBool_Check(object);
}

class ValueState : public StateBinding {
 public:
  ValueState(std::shared_ptr<BackendBinding> owner, StateTable* table, py::object default_value)
      : StateBinding(std::move(owner), table),
        values_(static_cast<PointTable*>(table)),
        cells_(table->descriptor().value, Label()) {
    if (default_value.is_none() || table->expiry().ttl().enabled()) return;
    default_row_ = cells_.Pack(default_value);
    py::object fitted = cells_.Unpack(default_row_);
    if (IsImmutable(fitted)) default_ = std::move(fitted);
  }

  py::object Value() {
    std::string_view row;
    if (Unwrap(values_->Read(&row))) return cells_.Unpack(row);
    return default_ || default_row_.empty() ? (default_ ? default_ : py::none())
                                            : cells_.Unpack(default_row_);
  }

  void Update(py::handle value) {
    if (value.is_none()) return Clear();
    Check(values_->context().CheckKey());
    Check(values_->Write(PackedCell(cells_, value).row()));
  }

  void Clear() { Check(values_->Clear()); }

  py::object GetMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    std::vector<PointEntry*> entries;
    Check(owner_->Apart([&] { return values_->ReadMany(located.keys, &entries); }));
    std::vector<std::string_view> rows;
    rows.reserve(entries.size());
    for (PointEntry* entry : entries) {
      const std::string* stored = values_->Seen(entry);
      if (stored != nullptr)
        rows.push_back(RowOf(*stored));
      else
        rows.push_back(default_row_.empty() ? std::string_view() : default_row_);
    }
    return cells_.Array(rows);
  }

  void PutMany(py::handle keys, py::handle values) {
    auto located = owner_->Locate(keys);
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " values");
    Check(column.ForEach([](int64_t, std::string_view) { return Status(); }));
    Check(column.ForEach([&](int64_t i, std::string_view row) {
      const StateKey& key = located.keys[static_cast<size_t>(i)];
      return row.data() == nullptr ? values_->ClearOne(key) : values_->WriteOne(key, row);
    }));
  }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(values_->ClearOne(key));
  }

 private:
  PointTable* values_;
  PythonCells cells_;
  py::object default_;  // where it can't be changed by who gets it
  std::string default_row_;
};

}  // namespace

py::object OpenValueState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                          const py::object& ttl, py::object default_value) {
  StateTable* table = owner->Open(descriptor, ttl);
  return py::cast(std::make_shared<ValueState>(std::move(owner), table, std::move(default_value)));
}

void BindStateValue(py::module_& m) {
  py::class_<ValueState, StateBinding, std::shared_ptr<ValueState>> value(m, "RocksValueState");
  DefineFast<ValueState, &ValueState::Value>(value, "value");
  DefineFast<ValueState, &ValueState::Update>(value, "update", "value");
  value.def("clear", &ValueState::Clear)
      .def("get_many", &ValueState::GetMany, py::arg("keys"))
      .def("put_many", &ValueState::PutMany, py::arg("keys"), py::arg("values"))
      .def("clear_many", &ValueState::ClearMany, py::arg("keys"));
}

}  // namespace flint
