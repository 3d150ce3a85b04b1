#include "bindings/table_mapping.h"

#include <utility>

#include "bindings/bindings.h"

namespace flint {
namespace {

bool HasSlice(PyObject* key) {
  if (!PyTuple_Check(key)) return PySlice_Check(key);
  const Py_ssize_t count = PyTuple_GET_SIZE(key);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PySlice_Check(PyTuple_GET_ITEM(key, i))) return true;
  }
  return false;
}

Status NotARange() {
  return Status::Invalid(
      "a slice is no key: scan(lower=(first,), upper=(behind,)) reads a range, "
      "delete_range with the same bounds deletes one");
}

// A key's bytes, in memory that the table lends: Python code of a value's own may come back here
// meanwhile, and then finds none to borrow.
class EncodedKey {
 public:
  EncodedKey(BoundTable* table, PyObject* key)
      : table_(table), writer_(std::exchange(table->spare_writer, KeyWriter())) {
    writer_.Clear();
    status_ = table->keys.Write(key, &writer_);
    if (!status_.ok()) status_ = table->table->Context(HasSlice(key) ? NotARange() : status_);
  }
  ~EncodedKey() { table_->spare_writer = std::move(writer_); }

  const Status& status() const { return status_; }
  std::string_view bytes() const { return writer_.bytes(); }

 private:
  BoundTable* table_;
  KeyWriter writer_;
  Status status_;
};

// With the GIL as long as memory has the answer, without it where files must be read.
Result<bool> Read(Table& table, std::string_view key, rocksdb::PinnableSlice* row,
                  const Snapshot* snapshot) {
  FLINT_ASSIGN_OR_RETURN(std::optional<bool> found, table.GetRowInMemory(key, row, snapshot));
  if (found.has_value()) return *found;
  return WithoutGil([&] { return table.GetRow(key, row, snapshot); });
}

Status Write(BoundTable* self, PyObject* key, PyObject* row) {
  EncodedKey encoded(self, key);
  FLINT_RETURN_IF_ERROR(encoded.status());
  Table& table = *self->table;
  std::string packed = std::exchange(self->spare_row, std::string());
  packed.clear();
  FLINT_RETURN_IF_ERROR(table.Context(self->rows->Pack(row, &packed)));
  Status status = WithoutGil([&] { return table.PutRow(encoded.bytes(), packed); });
  self->spare_row = std::move(packed);
  return status;
}

// The entrances from Python: no exception leaves them but as a Python error.
template <class Result, class Work>
Result Guarded(Result failed, Work work) {
  try {
    return work();
  } catch (const StatusError& error) {
    SetPythonError(error.status());
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return failed;
}

// These slots are a table's own and its subclasses', so that its type need not be looked up. One
// whose __init__ was not run is left to pybind11 to refuse.
BoundTable& Self(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  if (instance->simple_layout && instance->simple_value_holder[0] != nullptr) {
    return *static_cast<BoundTable*>(instance->simple_value_holder[0]);
  }
  return py::cast<BoundTable&>(py::handle(self));
}

int RaiseKeyError(PyObject* key) {
  PyErr_SetObject(PyExc_KeyError, py::make_tuple(py::handle(key)).ptr());
  return -1;
}

PyObject* GetItem(PyObject* self, PyObject* key) {
  return Guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    py::object row = GetOr(Self(self), key, py::object(), nullptr);
    if (!row) RaiseKeyError(key);
    return row.release().ptr();
  });
}

// False where it is absent, as far as can be told: another thread may be at the same key.
bool Delete(BoundTable* self, PyObject* key) {
  auto pin = Unwrap(self->table->database()->Enter());
  EncodedKey encoded(self, key);
  Check(encoded.status());
  Table& table = *self->table;
  rocksdb::PinnableSlice row;
  if (!Unwrap(Read(table, encoded.bytes(), &row, nullptr))) return false;
  Check(WithoutGil([&] { return table.DeleteRow(encoded.bytes()); }));
  return true;
}

int SetItem(PyObject* self, PyObject* key, PyObject* row) {
  return Guarded<int>(-1, [&] {
    if (row == nullptr) return Delete(&Self(self), key) ? 0 : RaiseKeyError(key);
    Check(Write(&Self(self), key, row));
    return 0;
  });
}

int Contains(PyObject* self, PyObject* key) {
  return Guarded<int>(-1, [&] {
    BoundTable& table = Self(self);
    auto pin = Unwrap(table.table->database()->Enter());
    EncodedKey encoded(&table, key);
    Check(encoded.status());
    rocksdb::PinnableSlice row;
    return Unwrap(Read(*table.table, encoded.bytes(), &row, nullptr)) ? 1 : 0;
  });
}

}  // namespace

py::object GetOr(BoundTable& self, py::handle key, py::object absent, const BoundSnapshot* bound) {
  auto pin = Unwrap(self.table->database()->Enter());  // longer than the row is held
  auto snapshot = BoundSnapshot::Of(bound, *self.table);
  EncodedKey encoded(&self, key.ptr());
  Check(encoded.status());
  rocksdb::PinnableSlice row;
  if (!Unwrap(Read(*self.table, encoded.bytes(), &row, snapshot.get()))) return absent;
  auto unpacked = self.rows->Unpack({row.data(), row.size()});
  if (!unpacked.ok()) Check(self.table->Context(unpacked.status()));
  return py::reinterpret_steal<py::object>(*unpacked);
}

void SetUpMapping(PyHeapTypeObject* type) {
  type->as_mapping.mp_subscript = &GetItem;
  type->as_mapping.mp_ass_subscript = &SetItem;
  type->as_sequence.sq_contains = &Contains;
}

}  // namespace flint
