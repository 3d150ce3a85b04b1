#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "bindings/pybind.h"
#include "bindings/python_row.h"
#include "bindings/python_scalar.h"

namespace flint {

// Columns of a batch as Python objects, one by one, and rows of objects as columns. All calls need
// the GIL.

// One column, whose values are made when they are asked for: as python_scalar.h says for fixed
// width, str, bytes. Nested and dictionary columns are turned into a list beforehand by pyarrow.
class ColumnObjects {
 public:
  // `column` is the pyarrow array that `view` looks at, and must outlive this.
  ColumnObjects(const ColumnView& view, py::handle column);

  // A new reference; throws where the value can't be one.
  PyObject* At(int64_t row) const;

 private:
  ColumnView view_;
  std::optional<PythonScalar> scalar_;
  py::object list_;
};

// Gathers tuples into columns, by the rules by which a state takes a value (python_value.h):
// nothing is changed to fit.
class RowGatherer {
 public:
  // Throws where no row can be of the schema.
  explicit RowGatherer(const Schema& schema);

  // The columns that it makes: of the plain types.
  const Schema& schema() const { return schema_; }
  // Invalid, with the column and the value, where the row does not fit; nothing was taken then.
  Status Add(PyObject* tuple);
  int64_t size() const { return size_; }
  // Whether it should be emptied, lest a column of strings outgrow its offsets.
  bool full() const { return bytes_ > kBytesMax; }
  // What was gathered since the last time.
  OwnedArray Finish();

 private:
  static constexpr size_t kBytesMax = size_t{512} << 20;

  struct Cell {
    bool null = false;
    char slot[32] = {};
    std::string_view bytes;
    py::object copied;  // what `bytes` looks at, where that is not the value itself
  };
  // Values that are nested wait as rows of their column alone, and are decoded together.
  struct Packed {
    std::unique_ptr<const PythonRow> row;
    std::string bytes;
    std::vector<size_t> ends;
  };
  struct Column {
    Field field;
    std::optional<PythonScalar> scalar;
    std::optional<Packed> packed;
    Cell cell;
  };

  static Column MakeColumn(const Field& field);
  static Status Read(PyObject* value, Column* column);
  static Status ReadBytes(PyObject* value, Column* column);
  void Append(size_t k);
  void Decode(Packed* packed, ColumnBuilder* out) const;

  Schema schema_;
  std::vector<Column> columns_;
  BatchBuilder builder_;
  int64_t size_ = 0;
  size_t bytes_ = 0;
};

}  // namespace flint
