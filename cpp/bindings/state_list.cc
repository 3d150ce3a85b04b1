#include "bindings/bindings.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "state/ordered_table.h"

namespace flint {
namespace {

constexpr size_t kPageRows = 4096;

class ListState : public StateBinding {
 public:
  ListState(std::shared_ptr<BackendBinding> owner, StateTable* table)
      : StateBinding(std::move(owner), table),
        rows_(static_cast<OrderedTable*>(table)),
        cells_(table->descriptor().value, Label() + " element") {}

  py::list Get() {
    py::list elements;
    OrderedScope* scope = Unwrap(rows_->Current());
    ForEachPage(scope, [&](const RowBlock& page) {
      for (size_t i = 0; i < page.size(); ++i) {
        elements.append(cells_.Unpack(RowOf(page.stored(i))));
      }
    });
    return elements;
  }

  void Add(py::handle value) {
    Check(rows_->context().CheckKey());
    CheckSome(value);
    PackedCell packed(cells_, value);
    Check(rows_->Append(Unwrap(rows_->Current()), {}, packed.row()));
  }

  void AddAll(py::handle values) {
    Check(rows_->context().CheckKey());
    AppendAll(PackAll(values));
  }

  void Update(py::handle values) {
    Check(rows_->context().CheckKey());
    std::vector<std::string> packed = PackAll(values);
    Check(rows_->Clear(Unwrap(rows_->Current())));
    AppendAll(packed);
  }

  void Clear() { Check(rows_->Clear(Unwrap(rows_->Current()))); }

  void MergeNamespaces(py::handle target, const py::iterable& sources) {
    Check(rows_->context().CheckKey());
    std::string into = EncodeSpace(target);
    std::vector<std::string> others;
    for (py::handle source : sources) others.push_back(EncodeSpace(source));
    for (const std::string& space : others) {
      OrderedScope* goal = Unwrap(rows_->InSpace(into));
      Check(rows_->MoveElements(Unwrap(rows_->InSpace(space)), goal));
    }
  }

  py::object GetMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    std::vector<std::string> elements;
    std::vector<int32_t> ends = {0};
    for (const StateKey& key : located.keys) {
      ForEachPage(Unwrap(rows_->Of(key)), [&](const RowBlock& page) {
        for (size_t i = 0; i < page.size(); ++i) elements.emplace_back(RowOf(page.stored(i)));
      });
      ends.push_back(static_cast<int32_t>(elements.size()));
    }
    std::vector<std::string_view> rows(elements.begin(), elements.end());
    py::object offsets = py::cast(ends);
    py::module_ pyarrow = py::module_::import("pyarrow");
    return pyarrow.attr("ListArray")
        .attr("from_arrays")(pyarrow.attr("array")(offsets, pyarrow.attr("int32")()),
                             cells_.Array(rows));
  }

  void AddMany(py::handle keys, py::handle values) {
    auto located = owner_->Locate(keys);
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " elements");
    Check(column.RefuseNulls(Label() + " elements"));
    Check(column.ForEach([&](int64_t i, std::string_view row) -> Status {
      FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, rows_->Of(located.keys[static_cast<size_t>(i)]));
      return rows_->Append(scope, {}, row);
    }));
  }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(rows_->Clear(Unwrap(rows_->Of(key))));
  }

 private:
  template <class Visit>
  void ForEachPage(OrderedScope* scope, Visit visit) {
    SuffixRange range;
    bool more = true;
    while (more) {
      RowBlock page;
      Check(rows_->Read(scope, range, kPageRows, &page, &more));
      visit(page);
      if (more) range.from = page.Behind();
    }
  }

  void CheckSome(py::handle value) const {
    if (value.is_none()) Check(Status::Invalid(Label() + ": None can't be an element"));
  }

  std::vector<std::string> PackAll(py::handle values) const {
    if (values.is_none() || py::isinstance<py::str>(values) || py::isinstance<py::bytes>(values)) {
      std::string given = py::repr(values);
      Check(Status::Invalid(Label() + ": " + given + " is no list of elements"));
    }
    std::vector<std::string> packed;
    for (py::handle value : py::iter(values)) {
      CheckSome(value);
      packed.push_back(cells_.Pack(value));
    }
    return packed;
  }

  void AppendAll(const std::vector<std::string>& packed) {
    for (const std::string& row : packed) Check(rows_->Append(Unwrap(rows_->Current()), {}, row));
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
      .def("get_many", &ListState::GetMany, py::arg("keys"))
      .def("add_many", &ListState::AddMany, py::arg("keys"), py::arg("values"))
      .def("clear_many", &ListState::ClearMany, py::arg("keys"));
}

}  // namespace flint
