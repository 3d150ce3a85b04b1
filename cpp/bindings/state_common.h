#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrow.h"
#include "bindings/pybind.h"
#include "bindings/python_key.h"
#include "bindings/python_row.h"
#include "key/key_encoder.h"
#include "row/row_decoder.h"
#include "row/row_encoder.h"
#include "state/backend.h"
#include "state/timers.h"

namespace flint {

// What the bindings of keyed state share: keys, namespaces and values on their way between Python
// and bytes.

// One schema of keys (the backend's, a namespace's, a map's) to and from Python objects.
class PythonKeys {
 public:
  // `declared`: which columns may be null.
  PythonKeys(KeySchema schema, Schema declared, std::string label);

  // The bytes of `key`, valid until the next call.
  std::string_view Encode(py::handle key);
  py::object Decode(std::string_view bytes) const;
  const KeySchema& schema() const { return objects_.schema(); }
  const Schema& declared() const { return declared_; }

 private:
  void CheckShape(py::handle key) const;
  void CheckNulls(py::handle key) const;

  PythonKey objects_;
  Schema declared_;
  std::string label_;
  bool has_required_;
  KeyWriter writer_;
  KeyWriter nested_;
};

// Values of one type: objects one by one, Arrow arrays as wholes.
class PythonCells {
 public:
  PythonCells(const Schema& column, const std::string& label);

  // The row of `value`, which is not None unless the column may be null.
  std::string Pack(py::handle value) const;
  void Pack(py::handle value, std::string* row) const;
  py::object Unpack(std::string_view row) const;
  // A pyarrow array with one value a row; a null pointer is a null.
  py::object Array(const std::vector<std::string_view>& rows) const;
  const std::shared_ptr<const RowSchema>& schema() const { return schema_; }
  const Field& field() const { return schema_->columns()[0]; }

 private:
  friend class PackedCell;

  std::shared_ptr<const RowSchema> schema_;
  std::unique_ptr<const PythonRow> objects_;
  std::string label_;
  mutable std::string spare_;  // for the next PackedCell
};

// The row of one value, in bytes that are used again and again: nothing is allocated for it. Code
// of the value's own may come back here meanwhile, and then finds none to use.
class PackedCell {
 public:
  PackedCell(const PythonCells& cells, py::handle value)
      : cells_(cells), row_(std::move(cells.spare_)) {
    row_.clear();
    cells.Pack(value, &row_);
  }
  ~PackedCell() { cells_.spare_ = std::move(row_); }
  PackedCell(const PackedCell&) = delete;
  PackedCell& operator=(const PackedCell&) = delete;

  std::string_view row() const { return row_; }

 private:
  const PythonCells& cells_;
  std::string row_;
};

// A column of values handed over as Arrow, row by row: encoded in runs between its nulls.
class CellColumn {
 public:
  // Invalid where it has not `size` rows, or is of another type.
  CellColumn(const PythonCells& cells, py::handle values, int64_t size, const std::string& what);
  // Calls visit(i, row) for each row in order, with no data pointer for nulls.
  template <class Visit>
  Status ForEach(Visit visit) const;
  // Invalid, `what` and the row named, where one is null.
  Status RefuseNulls(const std::string& what) const;
  // Whether a row may be refused when others were visited: for its size, or in a later chunk for
  // what is nested in it.
  bool NeedsLook() const;

 private:
  const PythonCells& cells_;
  ImportedColumn column_;
  std::vector<ColumnView> chunks_;
};

// Many keys handed over as Arrow: an array where the key is one column, else a batch or table, or
// an array of structs.
struct KeyBatch {
  EncodedKeys encoded;
  std::vector<std::string_view> keys;
};
// Encodes with `schema`, whose columns are `declared`.
KeyBatch EncodeKeyColumn(const KeySchema& schema, const Schema& declared, py::handle keys,
                         const std::string& what);

// A pyarrow array of what a builder holds.
py::object ToPyarrowArray(const Field& field, OwnedArray array);
// The one-column schema of a pyarrow type.
Schema ColumnOf(py::handle type, const char* name, bool nullable);
// The columns of a user's key: a struct's fields, or one called "key" that can't be null.
Schema UserKeyColumns(py::handle type);

// A backend as Python holds it, and its states with it.
class BackendBinding : public std::enable_shared_from_this<BackendBinding> {
 public:
  BackendBinding(std::unique_ptr<Backend> backend, Schema key);

  Backend& backend() { return *backend_; }
  StateContext& context() { return backend_->context(); }
  PythonKeys& keys() { return keys_; }

  void SetKey(py::handle key) {
    CheckNotBusy();
    Check(context().health);
    Check(backend_->SetKey(keys_.Encode(key)));
  }
  py::object CurrentKey() const;
  // Where each of the keys belongs; all are checked before any is used.
  struct Located {
    KeyBatch batch;
    std::vector<StateKey> keys;
  };
  Located Locate(py::handle keys);

  // Opens a state; `ttl` is None or (milliseconds, refresh_on_read, return_expired, event_time).
  StateTable* Open(const StateDescriptor& descriptor, const py::object& ttl);

  // The timers of a domain, whose namespaces are of the type that the backend was opened with.
  Timers& TimersOf(TimeDomain domain);
  // What they know of the first timers is void after a replay.
  void ForgetTimers() {
    event_timers_.reset();
    processing_timers_.reset();
  }
  // Makes a timer's key the current one, and its time that of the row: a processing-time timer has
  // the watermark's.
  void EnterTimer(const DueTimer& timer, TimeDomain domain);
  void LeaveTimers() { context().clock->SetRowTime(kNoTime); }
  void DeclareTimerSpace(const Schema& space);
  std::string EncodeTimerSpace(py::handle space);
  py::object DecodeTimerSpace(std::string_view bytes) const;

  // Runs `work`, which touches no Python object, without the GIL. Other threads that call the
  // backend meanwhile are told that it is busy.
  template <class Work>
  auto Apart(Work&& work) {
    Borrowed borrowed(this);
    return WithoutGil(std::forward<Work>(work));
  }
  void CheckNotBusy() const;

 private:
  // The backend is busy while one lives.
  class Borrowed {
   public:
    explicit Borrowed(BackendBinding* owner) : owner_(owner) {
      owner->CheckNotBusy();
      owner->context().usable = false;
      owner->busy_ = true;
    }
    ~Borrowed() {
      owner_->busy_ = false;
      owner_->context().usable = owner_->context().health.ok();
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

   private:
    BackendBinding* owner_;
  };

  std::unique_ptr<Backend> backend_;
  PythonKeys keys_;
  std::optional<PythonKeys> timer_spaces_;
  std::optional<Timers> event_timers_;
  std::optional<Timers> processing_timers_;
  bool busy_ = false;
};

// Puts the current key and the row's time back when it goes.
class CurrentKeyGuard {
 public:
  explicit CurrentKeyGuard(BackendBinding* owner)
      : owner_(owner),
        saved_(owner->context().key),
        saved_time_(owner->context().clock->row_time()) {}
  ~CurrentKeyGuard() {
    owner_->context().clock->SetRowTime(saved_time_);
    CurrentKey& key = owner_->context().key;
    uint64_t epoch = key.epoch;
    key = std::move(saved_);
    key.epoch = epoch + 1;
  }
  CurrentKeyGuard(const CurrentKeyGuard&) = delete;
  CurrentKeyGuard& operator=(const CurrentKeyGuard&) = delete;

 private:
  BackendBinding* owner_;
  CurrentKey saved_;
  int64_t saved_time_;
};

// A single call on a state, while code of the user's may run that is no business of its: before the
// call touches anything.
class Undisturbed {
 public:
  // Throws where there is no current key.
  explicit Undisturbed(const StateTable& table) : table_(table) {
    Check(table.context().CheckKey());
    place_ = table.place();
  }
  // Throws where the key or the state's namespace is another one now, the state was written to, or
  // the backend was closed.
  void Confirm() const { Check(table_.CheckStillAt(place_)); }

 private:
  const StateTable& table_;
  CallPlace place_;
};

// What every bound state has: its table, its name, its namespace.
class StateBinding {
 public:
  StateBinding(std::shared_ptr<BackendBinding> owner, StateTable* table);
  virtual ~StateBinding() = default;

  const std::string& name() const { return table_->descriptor().name; }
  py::object space() const { return space_; }
  void SetSpace(py::object space);
  // Calls what may run code of the user's before a call on this state, as `Undisturbed` has it.
  py::object CallUndisturbed(const py::function& call, const py::args& arguments) const;
  // Encodes a namespace; throws where there are none, or it does not fit.
  std::string EncodeSpace(py::handle space);
  StateTable* table() const { return table_; }
  BackendBinding& owner() const { return *owner_; }

 protected:
  std::string Label() const { return table_->Label(); }

  std::shared_ptr<BackendBinding> owner_;
  StateTable* table_;
  std::optional<PythonKeys> spaces_;
  py::object space_ = py::none();
};

template <class Visit>
Status CellColumn::ForEach(Visit visit) const {
  RowEncoder encoder(cells_.schema());
  int64_t row = 0;
  for (const ColumnView& chunk : chunks_) {
    const ColumnView* column = &chunk;
    bool keeps_nulls = cells_.field().nullable || !chunk.MayHaveNulls();
    for (int64_t begin = 0; begin < chunk.size();) {
      int64_t end = keeps_nulls ? chunk.size() : begin;
      while (!keeps_nulls && end < chunk.size() && !chunk.IsNull(end)) ++end;
      FLINT_RETURN_IF_ERROR(encoder.Encode({&column, 1}, begin, end - begin));
      for (int64_t i = 0; i < end - begin; ++i) FLINT_RETURN_IF_ERROR(visit(row++, encoder.row(i)));
      begin = end;
      if (begin < chunk.size()) {
        FLINT_RETURN_IF_ERROR(visit(row++, std::string_view()));
        ++begin;
      }
    }
  }
  return {};
}

// The methods that all kinds have, in the order in which all of them stand.
template <class Binding, class Class>
void BindStateBasics(Class& bound) {
  bound.def_property_readonly("name", &Binding::name)
      .def_property_readonly("namespace", &Binding::space)
      .def("set_namespace", &Binding::SetSpace, py::arg("namespace"))
      .def("undisturbed", &Binding::CallUndisturbed, py::arg("call"));
}

}  // namespace flint
