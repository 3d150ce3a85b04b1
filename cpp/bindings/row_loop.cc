#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arrow.h"
#include "bindings/bindings.h"
#include "bindings/column_objects.h"
#include "bindings/event_times.h"
#include "bindings/put_out.h"
#include "bindings/state_common.h"
#include "operators/keyed_rows.h"
#include "state/point_table.h"

namespace flint {
namespace {

// So many keys are read at a time: enough for a MultiGet to pay, few enough to stay in the
// processor's cache until they are used.
constexpr size_t kPrefetchedKeys = 8192;
const Field kRowNumber{"row", DataType(TypeId::kInt64), false};

// Calls a function for each row of a batch, key by key, and gathers what it puts out: one call from
// Python for some ten thousand rows. Rows are instances of a class of named tuples. Where there is
// a column of event times, the row's is the backend's during the call.
class RowLoop {
 public:
  RowLoop(std::shared_ptr<BackendBinding> owner, py::handle key, py::object row_type,
          py::handle output, py::object context, std::optional<std::string> time)
      : owner_(std::move(owner)),
        key_(ImportSchema(key, "key")),
        row_type_(std::move(row_type)),
        context_(std::move(context)),
        current_key_(py::reinterpret_steal<py::object>(PyUnicode_InternFromString("current_key"))),
        time_(std::move(time)),
        put_out_(output) {}

  // Begins with another batch, a pyarrow.RecordBatch; what the last one put out was taken.
  void Begin(py::object batch, py::object function) {
    Look(batch);
    rows_ = Unwrap(owner_->Apart([&] { return KeyedRows::Make(view_, key_, owner_->backend()); }));
    // Moved together here, since jumping about between rows would wait for memory each time.
    batch = batch.attr("take")(ToPyarrowArray(kRowNumber, rows_.TakeOrder()));
    Look(batch);
    columns_.clear();
    for (size_t k = 0; k < view_.columns.size(); ++k) {
      columns_.emplace_back(view_.columns[k], batch.attr("column")(k));
    }
    LookAtTimes();
    key_columns_.clear();
    for (const Field& field : key_.fields) {
      key_columns_.push_back(static_cast<size_t>(view_.schema.IndexOf(field.name)));
    }
    batch_ = std::move(batch);
    function_ = std::move(function);
    key_at_ = row_at_ = prefetched_ = 0;
  }

  // Goes on until there is enough put out, or no row left, and returns as PutOut::Finish does.
  py::object Next() {
    while (key_at_ < rows_.keys().size() && !put_out_.HasEnough()) {
      if (row_at_ == rows_.begin(key_at_)) EnterKey();
      while (row_at_ < rows_.end(key_at_) && !put_out_.HasEnough()) Call(row_at_++);
      if (row_at_ < rows_.end(key_at_)) break;
      ++key_at_;
    }
    if (key_at_ == rows_.keys().size()) owner_->context().clock->SetRowTime(kNoTime);
    return put_out_.Finish();
  }

 private:
  void Look(py::handle batch) {
    source_ = ImportBatches(batch, "batch");
    array_ = Unwrap(source_->Next());
    if (!array_) Check(Status::Invalid("batch: it is empty"));
    view_ = Unwrap(BatchView::Make(source_->schema(), **array_));
  }

  void LookAtTimes() {
    times_.reset();
    if (!time_) return;
    int at = view_.schema.IndexOf(*time_);
    if (at < 0) Check(Status::Invalid("batch: its time column '" + *time_ + "' is missing"));
    times_ = Unwrap(
        EventTimes::Make(view_.columns[static_cast<size_t>(at)], "time column '" + *time_ + "'"));
  }

  void EnterKey() {
    if (key_at_ >= prefetched_) Prefetch();
    owner_->CheckNotBusy();
    owner_->backend().SetKey(rows_.keys()[key_at_]);
    for (PointTable* table : tables_) table->ExpectPrefetched(key_at_ - first_prefetched_);
    if (PyObject_SetAttr(context_.ptr(), current_key_.ptr(), KeyAt(row_at_).ptr()) != 0) {
      throw py::error_already_set();
    }
  }

  void Prefetch() {
    first_prefetched_ = key_at_;
    prefetched_ = std::min(key_at_ + kPrefetchedKeys, rows_.keys().size());
    tables_.clear();
    for (StateTable* table : owner_->backend().tables()) {
      auto* values = dynamic_cast<PointTable*>(table);
      if (values != nullptr) tables_.push_back(values);
    }
    Check(owner_->Apart([&]() -> Status {
      auto keys = rows_.keys().subspan(first_prefetched_, prefetched_ - first_prefetched_);
      for (PointTable* table : tables_) FLINT_RETURN_IF_ERROR(table->Prefetch(keys));
      return {};
    }));
  }

  py::object KeyAt(int64_t row) const {
    if (key_columns_.size() == 1) return ObjectAt(key_columns_[0], row);
    py::tuple key(key_columns_.size());
    for (size_t k = 0; k < key_columns_.size(); ++k) key[k] = ObjectAt(key_columns_[k], row);
    return key;
  }

  py::object ObjectAt(size_t column, int64_t row) const {
    return py::reinterpret_steal<py::object>(columns_[column].At(row));
  }

  py::object RowAt(int64_t row) const {
    auto* type = reinterpret_cast<PyTypeObject*>(row_type_.ptr());
    auto made = py::reinterpret_steal<py::object>(
        type->tp_alloc(type, static_cast<Py_ssize_t>(columns_.size())));
    if (!made) throw py::error_already_set();
    for (size_t k = 0; k < columns_.size(); ++k) {
      PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(k), columns_[k].At(row));
    }
    return made;
  }

  void Call(int64_t row) {
    py::object made = RowAt(row);
    if (times_) owner_->context().clock->SetRowTime((*times_)[row]);
    PyObject* arguments[] = {nullptr, made.ptr(), context_.ptr()};
    auto result = py::reinterpret_steal<py::object>(PyObject_Vectorcall(
        function_.ptr(), arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    if (!result) throw py::error_already_set();
    put_out_.TakeAll(result, function_);
  }

  std::shared_ptr<BackendBinding> owner_;
  const Schema key_;
  const py::object row_type_;
  const py::object context_;
  const py::object current_key_;           // the attribute's name
  const std::optional<std::string> time_;  // the column of event times
  PutOut put_out_;

  py::object batch_;
  py::object function_;
  std::unique_ptr<BatchSource> source_;
  std::optional<OwnedArray> array_;
  BatchView view_;
  KeyedRows rows_;
  std::vector<ColumnObjects> columns_;
  std::vector<size_t> key_columns_;
  std::optional<EventTimes> times_;
  std::vector<PointTable*> tables_;
  size_t key_at_ = 0;
  int64_t row_at_ = 0;
  size_t first_prefetched_ = 0;
  size_t prefetched_ = 0;  // keys before it
};

}  // namespace

void BindRowLoop(py::module_& m) {
  py::class_<RowLoop>(m, "RowLoop")
      .def(py::init<std::shared_ptr<BackendBinding>, py::handle, py::object, py::handle, py::object,
                    std::optional<std::string>>(),
           py::arg("backend"), py::arg("key"), py::arg("row_type"), py::arg("output"),
           py::arg("context"), py::arg("time") = py::none())
      .def("begin", &RowLoop::Begin, py::arg("batch"), py::arg("function"))
      .def("next", &RowLoop::Next);
}

}  // namespace flint
