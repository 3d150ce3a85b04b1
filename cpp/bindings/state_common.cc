#include "bindings/state_common.h"

#include <algorithm>

#include "base/find_column.h"
#include "key/key_group.h"

namespace flint {
namespace {

py::module_ Pyarrow() { return py::module_::import("pyarrow"); }

KeySchema CanonicalOf(const Schema& schema) { return Unwrap(KeySchema::Canonical(schema)); }

// Encoding them runs no code of the user's.
bool IsPlain(PyObject* key) {
  return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyBytes_CheckExact(key) ||
         PyFloat_CheckExact(key);
}

bool HasRequired(const Schema& schema) {
  for (const Field& field : schema.fields) {
    if (!field.nullable) return true;
  }
  return false;
}

// What the rows of a column take all together, at most. A dictionary may say little many times.
size_t RowBytesMax(const ColumnView& column) {
  constexpr size_t kBesides = 16;  // what stands around a value
  const DataType& type = column.type();
  if (type.id == TypeId::kDictionary) return kChangeBytesMax;
  const size_t each = kBesides + static_cast<size_t>(std::max(0, type.FixedWidth()));
  size_t bytes = static_cast<size_t>(column.size()) * each;
  for (int64_t i = 0; type.IsBytes() && i < column.size(); ++i) {
    if (!column.IsNull(i)) bytes += column.Bytes(i).size();
  }
  for (size_t k = 0; k < type.children.size(); ++k) bytes += RowBytesMax(column.child(k));
  return bytes;
}

// The columns of struct rows, which may not be null themselves.
Result<std::vector<ColumnView>> StructColumns(const ColumnView& rows, const std::string& what) {
  std::vector<ColumnView> columns;
  for (int64_t i = 0; rows.MayHaveNulls() && i < rows.size(); ++i) {
    if (rows.IsNull(i)) return Status::Invalid(what + ": row " + std::to_string(i) + " is null");
  }
  for (size_t k = 0; k < rows.type().children.size(); ++k) columns.push_back(rows.child(k));
  return columns;
}

Status CheckTypes(const Schema& declared, const std::vector<ColumnView>& columns,
                  const std::string& what) {
  if (columns.size() != declared.size()) {
    return Status::Invalid(what + ": " + std::to_string(columns.size()) + " columns given, " +
                           std::to_string(declared.size()) + " wanted");
  }
  for (size_t k = 0; k < columns.size(); ++k) {
    const Field& field = declared[k];
    if (!columns[k].type().SameValues(field.type)) {
      return Status::Invalid(what + ": column '" + field.name + "' is " +
                             columns[k].type().ToString() + ", not " + field.type.ToString());
    }
    for (int64_t i = 0; !field.nullable && columns[k].MayHaveNulls() && i < columns[k].size();
         ++i) {
      if (columns[k].IsNull(i)) {
        return Status::Invalid(what + ": row " + std::to_string(i) + " of column '" + field.name +
                               "' is null");
      }
    }
  }
  return {};
}

Status AppendKeys(const KeyEncoder& encoder, const Schema& declared,
                  const std::vector<ColumnView>& columns, int64_t rows, const std::string& what,
                  EncodedKeys* encoded) {
  FLINT_RETURN_IF_ERROR(CheckTypes(declared, columns, what));
  return encoder.Append(columns, 0, rows, encoded).WithContext(what);
}

Status EncodeBatches(const KeyEncoder& encoder, const Schema& declared, BatchSource* source,
                     const std::string& what, EncodedKeys* encoded) {
  while (true) {
    FLINT_ASSIGN_OR_RETURN(auto array, source->Next());
    if (!array) return {};
    FLINT_ASSIGN_OR_RETURN(BatchView batch, BatchView::Make(source->schema(), **array));
    std::vector<ColumnView> columns;
    for (const Field& field : declared.fields) {
      FLINT_ASSIGN_OR_RETURN(const int at, FindColumn(batch.schema, field.name));
      if (at < 0) return Status::Invalid(what + ": column '" + field.name + "' is missing");
      columns.push_back(batch.columns[static_cast<size_t>(at)]);
    }
    FLINT_RETURN_IF_ERROR(AppendKeys(encoder, declared, columns, batch.num_rows, what, encoded));
  }
}

Status EncodeColumn(const KeyEncoder& encoder, const Schema& declared, const ImportedColumn& column,
                    const std::string& what, EncodedKeys* encoded) {
  bool rows = column.field.type.id == TypeId::kStruct &&
              (declared.size() > 1 || declared[0].type.id != TypeId::kStruct);
  for (const OwnedArray& chunk : column.chunks) {
    FLINT_ASSIGN_OR_RETURN(ColumnView view, ColumnView::Make(column.field.type, *chunk));
    std::vector<ColumnView> columns = {view};
    if (rows) {
      FLINT_ASSIGN_OR_RETURN(columns, StructColumns(view, what));
    }
    FLINT_RETURN_IF_ERROR(AppendKeys(encoder, declared, columns, view.size(), what, encoded));
  }
  return {};
}

}  // namespace

PythonKeys::PythonKeys(KeySchema schema, Schema declared, std::string label)
    : objects_(Unwrap(PythonKey::Make(std::make_shared<const KeySchema>(std::move(schema))))),
      declared_(std::move(declared)),
      label_(std::move(label)),
      has_required_(HasRequired(declared_)) {}

void PythonKeys::CheckShape(py::handle key) const {
  if (has_required_) CheckNulls(key);
  TypeId type = declared_[0].type.id;
  bool nested = type == TypeId::kStruct || declared_[0].type.IsList();
  if (declared_.size() == 1 && PyTuple_Check(key.ptr()) && !nested) {
    Check(Status::Invalid(label_ + " '" + declared_[0].name + "': expected " +
                          declared_[0].type.ToString() + ", got tuple"));
  }
}

void PythonKeys::CheckNulls(py::handle key) const {
  auto refuse = [&](const Field& field) {
    Check(Status::Invalid(label_ + " '" + field.name + "' (" + field.type.ToString() +
                          "): None can't be a key"));
  };
  if (declared_.size() == 1) {
    if (key.is_none()) refuse(declared_[0]);
    return;
  }
  if (!PyTuple_Check(key.ptr())) return;
  size_t count = std::min(declared_.size(), static_cast<size_t>(PyTuple_GET_SIZE(key.ptr())));
  for (size_t k = 0; k < count; ++k) {
    bool none = PyTuple_GET_ITEM(key.ptr(), static_cast<Py_ssize_t>(k)) == Py_None;
    if (none && !declared_[k].nullable) refuse(declared_[k]);
  }
}

std::string_view PythonKeys::Encode(py::handle key) {
  if (!IsPlain(key.ptr())) CheckShape(key);
  if (IsPlain(key.ptr())) {
    writer_.Clear();
    Check(objects_.Write(key.ptr(), &writer_));
    return writer_.bytes();
  }
  // Encoding may run code of the user's, which may come back here.
  KeyWriter writer;
  Check(objects_.Write(key.ptr(), &writer));
  nested_ = std::move(writer);
  return nested_.bytes();
}

py::object PythonKeys::Decode(std::string_view bytes) const {
  return py::reinterpret_steal<py::object>(Unwrap(objects_.Read(bytes)));
}

PythonCells::PythonCells(const Schema& column, const std::string& label)
    : schema_(Unwrap(RowSchema::Make(column))),
      objects_(Unwrap(PythonRow::ForCell(schema_))),
      label_(label) {}

void PythonCells::Pack(py::handle value, std::string* row) const {
  Status status = objects_->Pack(value.ptr(), row);
  if (!status.ok()) throw StatusError(status.WithContext(label_));
}

std::string PythonCells::Pack(py::handle value) const {
  std::string row;
  Pack(value, &row);
  return row;
}

py::object PythonCells::Unpack(std::string_view row) const {
#if PY_VERSION_HEX < 0x030C0000
  // Making containers may collect garbage there, and so run code of the user's that moves the row.
  std::string copy;
  if (!field().type.children.empty()) row = copy.assign(row);
#endif
  auto value = objects_->Unpack(row);
  if (!value.ok()) throw StatusError(value.status().WithContext(label_));
  return py::reinterpret_steal<py::object>(*value);
}

py::object PythonCells::Array(const std::vector<std::string_view>& rows) const {
  RowDecoder decoder(schema_);
  ColumnBuilder builder(field().type);
  ColumnBuilder* out = &builder;
  Check(decoder.Decode(rows, {&out, 1}).WithContext(label_));
  ArrowArray array;
  builder.Finish(&array);
  Field nullable = field();
  nullable.nullable = true;
  return ToPyarrowArray(nullable, OwnedArray(&array));
}

CellColumn::CellColumn(const PythonCells& cells, py::handle values, int64_t size,
                       const std::string& what)
    : cells_(cells), column_(ImportColumn(values, what)) {
  if (!column_.field.type.SameValues(cells.field().type)) {
    Check(Status::Invalid(what + ": " + column_.field.type.ToString() + " given, " +
                          cells.field().type.ToString() + " wanted"));
  }
  int64_t rows = 0;
  for (const OwnedArray& chunk : column_.chunks) {
    chunks_.push_back(Unwrap(ColumnView::Make(column_.field.type, *chunk)));
    rows += chunks_.back().size();
  }
  if (rows != size) {
    Check(Status::Invalid(what + ": " + std::to_string(rows) + " given for " +
                          std::to_string(size) + " keys"));
  }
}

Status CellColumn::RefuseNulls(const std::string& what) const {
  int64_t row = 0;
  for (const ColumnView& chunk : chunks_) {
    for (int64_t i = 0; chunk.MayHaveNulls() && i < chunk.size(); ++i) {
      if (chunk.IsNull(i)) {
        return Status::Invalid(what + ": row " + std::to_string(row + i) + " is null");
      }
    }
    row += chunk.size();
  }
  return {};
}

bool CellColumn::NeedsLook() const {
  size_t bytes = 0;
  for (const ColumnView& chunk : chunks_) bytes += RowBytesMax(chunk);
  return bytes > kValueBytesMax || (chunks_.size() > 1 && !column_.field.type.children.empty());
}

KeyBatch EncodeKeyColumn(const KeySchema& schema, const Schema& declared, py::handle keys,
                         const std::string& what) {
  KeyBatch batch;
  KeyEncoder encoder(schema);
  bool table = py::hasattr(keys, "column_names") || py::hasattr(keys, "schema");
  if (table) {
    Check(EncodeBatches(encoder, declared, ImportBatches(keys, what).get(), what, &batch.encoded));
  } else {
    Check(EncodeColumn(encoder, declared, ImportColumn(keys, what), what, &batch.encoded));
  }
  batch.keys.reserve(static_cast<size_t>(batch.encoded.size()));
  for (int64_t i = 0; i < batch.encoded.size(); ++i) batch.keys.push_back(batch.encoded[i]);
  return batch;
}

py::object ToPyarrowArray(const Field& field, OwnedArray array) {
  return Pyarrow().attr("array")(py::cast(ExportedArray{field, std::move(array)}));
}

Schema ColumnOf(py::handle type, const char* name, bool nullable) {
  py::object field = Pyarrow().attr("field")(name, type, py::arg("nullable") = nullable);
  py::list fields;
  fields.append(field);
  return ImportSchema(Pyarrow().attr("schema")(fields), name);
}

Schema UserKeyColumns(py::handle type) {
  Schema one = ColumnOf(type, "key", false);
  if (one[0].type.id != TypeId::kStruct) return one;
  return Schema{one[0].type.children};
}

BackendBinding::BackendBinding(std::unique_ptr<Backend> backend, Schema key)
    : backend_(std::move(backend)), keys_(backend_->key_schema(), std::move(key), "key column") {}

py::object BackendBinding::CurrentKey() const {
  Check(backend_->context().CheckKey());
  return keys_.Decode(std::string(backend_->context().key.bytes));  // code of the user's may run
}

BackendBinding::Located BackendBinding::Locate(py::handle keys) {
  CheckNotBusy();
  Check(context().health);
  Located located{EncodeKeyColumn(keys_.schema(), keys_.declared(), keys, "keys"), {}};
  located.keys.reserve(located.batch.keys.size());
  for (std::string_view key : located.batch.keys) {
    located.keys.push_back(Unwrap(backend_->Locate(key)));
  }
  return located;
}

StateTable* BackendBinding::Open(const StateDescriptor& descriptor, const py::object& ttl) {
  CheckNotBusy();
  TimeToLive declared;
  if (!ttl.is_none()) {
    auto [milliseconds, refresh, expired, event] =
        ttl.cast<std::tuple<int64_t, bool, bool, bool>>();
    declared = {milliseconds, event ? TimeDomain::kEvent : TimeDomain::kProcessing, refresh,
                expired};
  }
  return Unwrap(backend_->OpenState(descriptor, declared));
}

void BackendBinding::DeclareTimerSpace(const Schema& space) {
  timer_spaces_.emplace(CanonicalOf(space), space, "timer namespace");
}

Timers& BackendBinding::TimersOf(TimeDomain domain) {
  CheckNotBusy();
  auto& timers = domain == TimeDomain::kEvent ? event_timers_ : processing_timers_;
  if (!timers) {
    Schema space = timer_spaces_ ? timer_spaces_->declared() : Schema();
    timers.emplace(Unwrap(Timers::Open(backend_.get(), domain, space)));
  }
  return *timers;
}

void BackendBinding::EnterTimer(const DueTimer& timer, TimeDomain domain) {
  Check(backend_->SetKey(timer.key));
  StateClock& clock = *context().clock;
  clock.SetRowTime(domain == TimeDomain::kEvent ? timer.time : clock.watermark());
}

std::string BackendBinding::EncodeTimerSpace(py::handle space) {
  if (timer_spaces_) return std::string(timer_spaces_->Encode(space));
  if (!space.is_none()) {
    Check(Status::Invalid("timers have no namespaces here: open with timer_namespace=<type>"));
  }
  return {};
}

py::object BackendBinding::DecodeTimerSpace(std::string_view bytes) const {
  return timer_spaces_ ? timer_spaces_->Decode(bytes) : py::none();
}

void BackendBinding::CheckNotBusy() const {
  if (!busy_) return;
  Check(backend_->context().health);  // of a thread that a forked child does not have
  Check(Status::Busy("another thread is at work on the backend"));
}

StateBinding::StateBinding(std::shared_ptr<BackendBinding> owner, StateTable* table)
    : owner_(std::move(owner)), table_(table) {
  const Schema& space = table->descriptor().space;
  if (space.size() == 0) return;
  spaces_.emplace(CanonicalOf(space), space, Label() + ": namespace");
  table_->SetSpace(spaces_->Encode(py::none()));
}

std::string StateBinding::EncodeSpace(py::handle space) {
  if (spaces_) return std::string(spaces_->Encode(space));
  if (!space.is_none()) {
    Check(Status::Invalid(Label() + " has no namespaces: open it with namespace=<type>"));
  }
  return {};
}

py::object StateBinding::CallUndisturbed(const py::function& call,
                                         const py::args& arguments) const {
  CallPlace place = table_->place();
  py::object result = call(*arguments);
  Check(table_->CheckStillAt(place));
  return result;
}

void StateBinding::SetSpace(py::object space) {
  table_->SetSpace(EncodeSpace(space));
  space_ = std::move(space);
}

}  // namespace flint
