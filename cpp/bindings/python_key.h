#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bindings/pybind.h"
#include "bindings/python_scalar.h"
#include "key/key_reader.h"
#include "key/key_schema.h"
#include "key/key_writer.h"

namespace flint {

// Keys from and to Python objects: a tuple with a value for each column, or the value itself where
// there is one column.
//   fixed width        as python_scalar.h says
//   string, binary     str; bytes, bytearray, memoryview
//   struct             dict; taken: a tuple or list of all fields, too
//   lists              list; taken: a tuple, too
//   null               None
// Errors name the column: "key column 'a': expected int64, got str 'x'". All calls need the GIL.
// Immutable; may be shared.
class PythonKey {
 public:
  static Result<PythonKey> Make(std::shared_ptr<const KeySchema> schema);

  const KeySchema& schema() const { return *schema_; }

  // Appends a whole key to `writer`.
  Status Write(PyObject* key, KeyWriter* writer) const;
  // Appends the columns from `first` on, as many as `values` has: for prefixes and bounds.
  // `columns` receives how many that were.
  Status WriteSome(size_t first, PyObject* values, KeyWriter* writer, size_t* columns) const;

  // A new reference. Corruption for bytes that are no key of the schema.
  Result<PyObject*> Read(std::string_view key) const;

 private:
  // A part of the key, with what its Python values take.
  struct Node {
    const KeyPart* part;
    std::optional<PythonScalar> scalar;
    std::vector<Node> children;
    std::vector<py::object> names;  // of a struct's fields, interned
  };

  explicit PythonKey(std::shared_ptr<const KeySchema> schema) : schema_(std::move(schema)) {}

  static Result<Node> MakeNode(const KeyPart& part);
  static Status WriteValue(const Node& node, PyObject* value, KeyWriter* writer);
  static Status WriteBytes(const Node& node, PyObject* value, KeyWriter* writer);
  static Status WriteSlot(const Node& node, PyObject* value, KeyWriter* writer);
  static Status WriteStruct(const Node& node, PyObject* value, KeyWriter* writer);
  static Status WriteList(const Node& node, PyObject* value, KeyWriter* writer);
  static Result<py::object> ReadValue(const Node& node, KeyReader* reader);
  static Result<py::object> ReadPresent(const Node& node, KeyReader* reader);
  static Result<py::object> ReadStruct(const Node& node, KeyReader* reader);
  static Result<py::object> ReadList(const Node& node, KeyReader* reader);
  Status WrongCount(size_t first, size_t given) const;

  std::shared_ptr<const KeySchema> schema_;
  std::vector<Node> nodes_;
};

}  // namespace flint
