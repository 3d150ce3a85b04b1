// Reducing and aggregating state: one accumulator under a key, changed by functions.

#include "bindings/bindings.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "bindings/state_many.h"
#include "state/point_table.h"
#include "state/reducer.h"

namespace flint {
namespace {

// What both have: an accumulator, and the merging of namespaces.
class GatheringState : public StateBinding {
 public:
  GatheringState(std::shared_ptr<BackendBinding> owner, StateTable* table)
      : StateBinding(std::move(owner), table),
        values_(static_cast<PointTable*>(table)),
        cells_(table->descriptor().value, Label()) {}

  void Clear() { Check(values_->Clear()); }

  void ClearMany(py::handle keys) {
    auto located = owner_->Locate(keys);
    for (const StateKey& key : located.keys) Check(values_->ClearOne(key));
  }

  // Works the result out before anything is changed. Its time stamp is the newest of the parts'.
  void MergeNamespaces(py::handle target, const py::iterable& sources) {
    Undisturbed call(*values_);
    std::string into = EncodeSpace(target);
    std::vector<std::string> others;
    for (py::handle source : sources) {
      std::string space = EncodeSpace(source);
      bool known = space == into || std::find(others.begin(), others.end(), space) != others.end();
      if (!known) others.push_back(std::move(space));
    }
    Moment now;
    Check(values_->Begin(&now));
    call.Confirm();
    Total total;
    TakePart(into, now, &total);
    for (const std::string& space : others) TakePart(space, now, &total);
    call.Confirm();
    for (const std::string& space : others) Check(values_->ClearSpace(space));
    if (!total.row.empty() && !others.empty()) {
      Check(values_->WriteSpace(into, total.row, total.stamp));
    }
  }

 protected:
  // The row of two accumulators.
  virtual std::string Merge(std::string_view older, std::string_view newer) = 0;

  py::object Read() {
    std::string_view row;
    return Unwrap(values_->Read(&row)) ? cells_.Unpack(row) : py::none();
  }
  // What an add is combined with: nothing that has expired, even where reads return that. So what
  // is kept does not depend on what was cleaned up.
  bool ReadLiving(std::string_view* row) {
    if (!values_->expiry().ttl().return_expired) return Unwrap(values_->Read(row));
    Moment now;
    Check(values_->Begin(&now));
    std::string_view stored;
    if (!Unwrap(values_->ReadSpace(values_->space(), now, &stored))) return false;
    *row = RowOf(stored);
    return true;
  }
  // Requires a result that is not None.
  std::string PackSome(py::handle value) const {
    if (value.is_none()) Check(Status::Invalid(Label() + ": None can't be kept"));
    return cells_.Pack(value);
  }

  PointTable* values_;
  PythonCells cells_;

 private:
  struct Total {
    std::string row;  // empty: nothing yet
    int64_t stamp = kNoTime;
  };

  // Merges what a namespace holds into `total`.
  void TakePart(const std::string& space, const Moment& now, Total* total) {
    std::string_view stored;
    if (!Unwrap(values_->ReadSpace(space, now, &stored))) return;
    total->stamp = std::max(total->stamp, StampOrNone(stored));
    std::string part(RowOf(stored));
    total->row = total->row.empty() ? part : Merge(total->row, part);
  }
};

class ReducingState : public GatheringState {
 public:
  ReducingState(std::shared_ptr<BackendBinding> owner, StateTable* table, py::object function)
      : GatheringState(std::move(owner), table), function_(std::move(function)) {
    const StateDescriptor& state = table->descriptor();
    if (state.function.empty()) return;
    reducer_.emplace(Unwrap(Reducer::Make(state.function, state.value[0].type)));
    if (reducer_->function() == ReduceFunction::kCount) one_ = cells_.Pack(py::int_(1));
  }

  py::object Get() { return Read(); }

  void Add(py::handle value) {
    Undisturbed call(*values_);
    std::string row = PackSome(value);
    call.Confirm();
    if (reducer_) return AddBuiltIn(one_.empty() ? row : one_);
    std::string_view before;
    if (!ReadLiving(&before)) return Check(values_->Write(row));
    row = Merge(before, row);
    call.Confirm();
    Check(values_->Write(row));
  }

  py::object GetMany(py::handle keys, py::handle times) {
    auto located = owner_->Locate(keys);
    std::deque<std::string> kept;
    return cells_.Array(TakeMany(owner_.get(), values_, located.keys, times, &kept));
  }

  void AddMany(py::handle keys, py::handle values, py::handle times) {
    auto located = owner_->Locate(keys);
    CellColumn column(cells_, values, static_cast<int64_t>(located.keys.size()),
                      Label() + " values");
    std::vector<std::string> rows;
    Check(column.ForEach([&](int64_t i, std::string_view row) {
      if (row.data() == nullptr) {
        return Status::Invalid(Label() + " values: row " + std::to_string(i) + " is null");
      }
      rows.emplace_back(row);
      return values_->CheckFits(located.batch.keys[static_cast<size_t>(i)].size(), 0,
                                row.size() + kOperandHead);
    }));
    RowMoments moments(*values_, times, rows.size());
    moments.CheckAllDated(rows.size());
    CurrentKeyGuard guard(owner_.get());
    for (size_t i = 0; i < rows.size(); ++i) {
      owner_->backend().SetKey(located.keys[i]);
      if (moments.event_time()) owner_->context().clock->SetRowTime(moments.time(i));
      Add(cells_.Unpack(rows[i]));
    }
  }

 protected:
  std::string Merge(std::string_view older, std::string_view newer) override {
    if (!reducer_) {
      // One after the other: making the second may run code of the user's, which moves rows.
      py::object first = cells_.Unpack(older);
      return PackSome(function_(first, cells_.Unpack(newer)));
    }
    std::string stored;
    AppendPlain(older, &stored);
    return std::string(RowOf(MergeStored(stored, reducer_->Operand(newer))));
  }

 private:
  // Without a time to live it needs no look at what is there.
  void AddBuiltIn(const std::string& row) {
    if (!values_->expiry().ttl().enabled()) {
      return Check(values_->MergeBlind(reducer_->Operand(row)));
    }
    std::string_view before;
    bool found = ReadLiving(&before);
    Check(values_->Write(found ? Merge(before, row) : row));
  }

  py::object function_;
  std::optional<Reducer> reducer_;
  std::string one_;  // what counting adds
};

class AggregatingState : public GatheringState {
 public:
  AggregatingState(std::shared_ptr<BackendBinding> owner, StateTable* table, py::object function)
      : GatheringState(std::move(owner), table), function_(std::move(function)) {}

  py::object Get() {
    py::object accumulator = Read();
    return accumulator.is_none() ? accumulator : function_.attr("get_result")(accumulator);
  }

  void Add(py::handle value) {
    Undisturbed call(*values_);
    std::string_view before;
    bool found = ReadLiving(&before);
    py::object accumulator = found ? cells_.Unpack(before) : Fresh();
    std::string row = PackSome(function_.attr("add")(value, accumulator));
    call.Confirm();
    Check(values_->Write(row));
  }

 protected:
  std::string Merge(std::string_view older, std::string_view newer) override {
    return PackSome(function_.attr("merge")(cells_.Unpack(older), cells_.Unpack(newer)));
  }

 private:
  // As it would come back from the store.
  py::object Fresh() { return cells_.Unpack(PackSome(function_.attr("create_accumulator")())); }

  py::object function_;
};

}  // namespace

py::object OpenReducingState(std::shared_ptr<BackendBinding> owner,
                             const StateDescriptor& descriptor, const py::object& ttl,
                             py::object function) {
  if (!descriptor.function.empty()) {
    Status known = Reducer::Make(descriptor.function, descriptor.value[0].type).status();
    Check(known.WithContext("reducing state '" + descriptor.name + "'"));
  }
  StateTable* table = owner->Open(descriptor, ttl);
  return py::cast(std::make_shared<ReducingState>(std::move(owner), table, std::move(function)));
}

py::object OpenAggregatingState(std::shared_ptr<BackendBinding> owner,
                                const StateDescriptor& descriptor, const py::object& ttl,
                                py::object function) {
  StateTable* table = owner->Open(descriptor, ttl);
  return py::cast(std::make_shared<AggregatingState>(std::move(owner), table, std::move(function)));
}

void BindStateGathering(py::module_& m) {
  py::class_<ReducingState, StateBinding, std::shared_ptr<ReducingState>>(m, "RocksReducingState")
      .def("get", &ReducingState::Get)
      .def("add", &ReducingState::Add, py::arg("value"))
      .def("clear", &ReducingState::Clear)
      .def("merge_namespaces", &ReducingState::MergeNamespaces, py::arg("target"),
           py::arg("sources"))
      .def("get_many", &ReducingState::GetMany, py::arg("keys"), py::kw_only(),
           py::arg("times") = py::none())
      .def("add_many", &ReducingState::AddMany, py::arg("keys"), py::arg("values"), py::kw_only(),
           py::arg("times") = py::none())
      .def("clear_many", &ReducingState::ClearMany, py::arg("keys"));
  py::class_<AggregatingState, StateBinding, std::shared_ptr<AggregatingState>>(
      m, "RocksAggregatingState")
      .def("get", &AggregatingState::Get)
      .def("add", &AggregatingState::Add, py::arg("value"))
      .def("clear", &AggregatingState::Clear)
      .def("merge_namespaces", &AggregatingState::MergeNamespaces, py::arg("target"),
           py::arg("sources"))
      .def("clear_many", &AggregatingState::ClearMany, py::arg("keys"));
}

}  // namespace flint
