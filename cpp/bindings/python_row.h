#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bindings/pybind.h"
#include "bindings/python_scalar.h"
#include "row/row_reader.h"
#include "row/row_schema.h"
#include "row/value_writer.h"

namespace flint {

// How structs come back to Python: as dicts, as pyarrow gives them, or as named tuples.
enum class StructForm { kDict, kNamedTuple };

// Values of one type, at any depth, to and from Python objects:
//
//   fixed width        as python_scalar.h says
//   string             str
//   binary             bytes; bytearray and memoryview are taken, too
//   struct             dict or named tuple; taken: a mapping (a nullable field may be missing), a
//                      tuple or list of all fields, a named tuple of the same names
//   lists              list; taken: any sequence but str, bytes and mappings
//   map                list of (key, value); taken: a mapping, or such pairs
//   null               None
//
// Errors name the way to the value: "column 'a.b[]': expected int32, got str 'x'".
// All calls need the GIL. Immutable. `layout` must outlive it.
class PythonValue {
 public:
  // `path` is the value's name in messages.
  static Result<PythonValue> Make(const ValueLayout& layout, std::string path, StructForm form,
                                  Counts counts);

  // Writes a value that is not None: one of fixed width at out[at], any other to the end of `out`.
  Status Write(PyObject* value, size_t at, std::string* out) const;
  // A new reference. Corruption where `bytes` can't be such a value.
  Result<PyObject*> Read(std::string_view bytes) const;

 private:
  friend class PythonRow;

  PythonValue(const ValueLayout& layout, std::string path, StructForm form)
      : layout_(&layout), path_(std::move(path)), form_(form) {}

  Status Wrong(PyObject* value, const std::string& but = "") const;
  Status WriteBytes(PyObject* value, std::string* out) const;
  Status WriteTuple(PyObject* value, size_t at, std::string* out) const;
  Status WriteMapping(PyObject* value, TupleWriter* tuple, std::string* out) const;
  Status WriteSequence(PyObject* value, TupleWriter* tuple, std::string* out) const;
  Status WriteMember(size_t k, PyObject* value, TupleWriter* tuple, std::string* out) const;
  Status WriteList(PyObject* value, size_t at, std::string* out) const;
  Status WriteElement(uint32_t i, PyObject* value, ListWriter* list, std::string* out) const;
  Status CheckNamesOf(PyObject* value) const;
  Status UnknownName(PyObject* mapping) const;

  // An empty dict or named tuple, and the k-th member put into it (the reference is taken over).
  PyObject* NewTuple() const;
  bool SetMember(PyObject* tuple, size_t k, PyObject* member) const;
  Result<PyObject*> ReadTuple(std::string_view bytes) const;
  Result<PyObject*> ReadList(std::string_view bytes) const;

  const ValueLayout* layout_;
  std::string path_;
  StructForm form_;
  std::optional<PythonScalar> scalar_;
  std::vector<PythonValue> children_;  // struct: its fields; lists: the element
  std::vector<py::object> names_;      // struct: of its fields, interned
  py::object named_tuple_;             // struct: its class, where that is its form
};

// Rows of a table or of keyed state to and from Python objects. All calls need the GIL. Immutable.
class PythonRow {
 public:
  // Of a table: a row is a struct of its columns, by the rules of a struct.
  static Result<std::unique_ptr<const PythonRow>> ForTable(std::shared_ptr<const RowSchema> schema,
                                                           StructForm form = StructForm::kDict);
  // Of state: the schema has one column, and a row is that column's bare value.
  static Result<std::unique_ptr<const PythonRow>> ForCell(
      std::shared_ptr<const RowSchema> schema, StructForm form = StructForm::kNamedTuple);

  const RowSchema& schema() const { return *schema_; }
  const std::shared_ptr<const RowSchema>& shared_schema() const { return schema_; }

  // Appends the row that `value` makes to `out`, in the newest version. Invalid where it does not
  // fit; `out` is then as it was. Python code of the value's own may run meanwhile: `out` must not
  // be within its reach.
  Status Pack(PyObject* value, std::string* out) const;
  // A new reference to what a row of any version holds. Corruption where it is damaged.
  Result<PyObject*> Unpack(std::string_view row) const;

  // The bytes of column k's value, as a ColumnDefault wants them.
  Result<std::string> PackValue(size_t k, PyObject* value) const;

 private:
  PythonRow(std::shared_ptr<const RowSchema> schema, bool bare)
      : schema_(std::move(schema)), bare_(bare) {}

  static Result<std::unique_ptr<const PythonRow>> Make(std::shared_ptr<const RowSchema> schema,
                                                       StructForm form, bool bare);
  Result<PyObject*> ReadColumn(RowReader* reader, size_t k) const;

  std::shared_ptr<const RowSchema> schema_;
  bool bare_;
  ValueLayout layout_;  // of a row as a struct
  std::optional<PythonValue> value_;
};

}  // namespace flint
