#include "bindings/bindings.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "bindings/state_many.h"
#include "state/ordered_table.h"
#include "state/row_key.h"

namespace flint {
namespace {

class ListState : public StateBinding {
 public:
  ListState(std::shared_ptr<BackendBinding> owner, StateTable* table)
      : StateBinding(std::move(owner), table),
        rows_(static_cast<OrderedTable*>(table)),
        cells_(table->descriptor().value, Label() + " element") {}

  py::list Get() {
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    RowBlock rows;
    Check(rows_->ReadAll(scope, now, &rows));
    py::list elements;
    for (size_t i = 0; i < rows.size(); ++i) elements.append(cells_.Unpack(RowOf(rows.stored(i))));
    return elements;
  }

  void Add(py::handle value) {
    Undisturbed call(*rows_);
    CheckSome(value);
    PackedCell packed(cells_, value);
    call.Confirm();
    Moment now;
    OrderedScope* scope = Unwrap(rows_->Current(&now));
    Check(rows_->Append(scope, {}, packed.row(), now));
  }

  void AddAll(py::handle values) {
    std::vector<std::string> packed = PackAll(values);
    Moment now;
    Check(rows_->Begin(&now));
    AppendAll(packed, now);
  }

  void Update(py::handle values) {
    std::vector<std::string> packed = PackAll(values);
    Moment now;
    Check(rows_->Begin(&now));
    if (!packed.empty()) Check(rows_->CheckDated(now));
    Check(rows_->Clear(Unwrap(rows_->Current())));
    AppendAll(packed, now);
  }

  void Clear() { Check(rows_->Clear(Unwrap(rows_->Current()))); }

  void MergeNamespaces(py::handle target, const py::iterable& sources) {
    Undisturbed call(*rows_);
    std::string into = EncodeSpace(target);
    std::vector<std::string> others;
    for (py::handle source : sources) others.push_back(EncodeSpace(source));
    call.Confirm();
    for (const std::string& space : others) Check(rows_->MoveElements(space, into));
  }

  py::object GetMany(py::handle keys, py::handle times) {
    auto located = owner_->Locate(keys);
    RowMoments moments(*rows_, times, located.keys.size());
    std::vector<std::string> elements;
    std::vector<int32_t> ends = {0};
    for (size_t k = 0; k < located.keys.size(); ++k) {
      RowBlock rows;
      Check(rows_->ReadAll(Unwrap(rows_->Of(located.keys[k])), moments.at(k), &rows));
      for (size_t i = 0; i < rows.size(); ++i) elements.emplace_back(RowOf(rows.stored(i)));
      ends.push_back(static_cast<int32_t>(elements.size()));
    }
    std::vector<std::string_view> rows(elements.begin(), elements.end());
    py::object offsets = py::cast(ends);
    py::module_ pyarrow = py::module_::import("pyarrow");
    return pyarrow.attr("ListArray")
        .attr("from_arrays")(pyarrow.attr("array")(offsets, pyarrow.attr("int32")()),
                             cells_.Array(rows));
  }

  void AddMany(py::handle keys, py::handle values, py::handle times) {
    auto located = owner_->Locate(keys);
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " elements");
    Check(column.RefuseNulls(Label() + " elements"));
    RowMoments moments(*rows_, times, located.keys.size());
    moments.CheckAllDated(located.keys.size());
    CheckFits(*rows_, located, column, [](size_t) { return kElementBytes; });
    Check(column.ForEach([&](int64_t row_number, std::string_view row) -> Status {
      auto i = static_cast<size_t>(row_number);
      FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, rows_->Of(located.keys[i]));
      return rows_->Append(scope, {}, row, moments.at(i));
    }));
  }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(rows_->Clear(Unwrap(rows_->Of(key))));
  }

 private:
  void CheckSome(py::handle value) const {
    if (value.is_none()) Check(Status::Invalid(Label() + ": None can't be an element"));
  }

  // All of the caller's code runs here.
  std::vector<std::string> PackAll(py::handle values) const {
    Undisturbed call(*rows_);
    if (values.is_none() || py::isinstance<py::str>(values) || py::isinstance<py::bytes>(values)) {
      std::string given = py::repr(values);
      Check(Status::Invalid(Label() + ": " + given + " is no list of elements"));
    }
    std::vector<std::string> packed;
    for (py::handle value : py::iter(values)) {
      CheckSome(value);
      packed.push_back(cells_.Pack(value));
      Check(rows_->CheckFits(kElementBytes, packed.back().size()));
    }
    call.Confirm();
    return packed;
  }

  void AppendAll(const std::vector<std::string>& packed, const Moment& now) {
    for (const std::string& row : packed) {
      Check(rows_->Append(Unwrap(rows_->Current()), {}, row, now));
    }
  }

  OrderedTable* rows_;
  PythonCells cells_;
};

}  // namespace

py::object OpenListState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                         const py::object& ttl) {
  StateTable* table = owner->Open(descriptor, ttl);
  return py::cast(std::make_shared<ListState>(std::move(owner), table));
}

void BindStateList(py::module_& m) {
  py::class_<ListState, StateBinding, std::shared_ptr<ListState>>(m, "RocksListState")
      .def("get", &ListState::Get)
      .def("add", &ListState::Add, py::arg("value"))
      .def("add_all", &ListState::AddAll, py::arg("values"))
      .def("update", &ListState::Update, py::arg("values"))
      .def("clear", &ListState::Clear)
      .def("merge_namespaces", &ListState::MergeNamespaces, py::arg("target"), py::arg("sources"))
      .def("get_many", &ListState::GetMany, py::arg("keys"), py::kw_only(),
           py::arg("times") = py::none())
      .def("add_many", &ListState::AddMany, py::arg("keys"), py::arg("values"), py::kw_only(),
           py::arg("times") = py::none())
      .def("clear_many", &ListState::ClearMany, py::arg("keys"));
}

}  // namespace flint
