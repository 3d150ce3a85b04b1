#include "bindings/bindings.h"
#include "bindings/fast_method.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "bindings/state_many.h"
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
    Undisturbed call(*values_);
    PackedCell packed(cells_, value);
    call.Confirm();
    Check(values_->Write(packed.row()));
  }

  void Clear() { Check(values_->Clear()); }

  py::object GetMany(py::handle keys, py::handle times) {
    auto located = owner_->Locate(keys);
    std::deque<std::string> kept;
    auto rows = TakeMany(owner_.get(), values_, located.keys, times, &kept);
    for (std::string_view& row : rows) {
      if (row.data() == nullptr && !default_row_.empty()) row = default_row_;
    }
    return cells_.Array(rows);
  }

  void PutMany(py::handle keys, py::handle values, py::handle times) {
    auto located = owner_->Locate(keys);
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " values");
    RowMoments moments(*values_, times, located.keys.size());
    Check(column.ForEach([&](int64_t row_number, std::string_view row) -> Status {
      auto i = static_cast<size_t>(row_number);
      if (row.data() == nullptr) return {};
      FLINT_RETURN_IF_ERROR(values_->CheckFits(located.batch.keys[i].size(), 0, row.size()));
      return moments.CheckDated(i);
    }));
    if (moments.event_time()) LoadMany(located.keys);
    Check(column.ForEach([&](int64_t row_number, std::string_view row) {
      auto i = static_cast<size_t>(row_number);
      return row.data() == nullptr ? values_->ClearOne(located.keys[i])
                                   : values_->WriteOne(located.keys[i], row, moments.at(i));
    }));
  }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(values_->ClearOne(key));
  }

 private:
  // At once what writes would ask for one by one.
  void LoadMany(const std::vector<StateKey>& keys) {
    std::vector<PointEntry*> entries;
    Check(owner_->Apart([&] { return values_->ReadMany(keys, &entries); }));
  }

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
      .def("get_many", &ValueState::GetMany, py::arg("keys"), py::kw_only(),
           py::arg("times") = py::none())
      .def("put_many", &ValueState::PutMany, py::arg("keys"), py::arg("values"), py::kw_only(),
           py::arg("times") = py::none())
      .def("clear_many", &ValueState::ClearMany, py::arg("keys"));
}

}  // namespace flint
