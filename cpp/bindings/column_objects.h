#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "bindings/pybind.h"
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

// Gathers tuples into columns. Exact: what would have to be converted is refused.
class RowGatherer {
 public:
  // Which schemas it can gather: flat ones.
  static bool Takes(const Schema& schema);
  explicit RowGatherer(const Schema& schema);

  // False, and nothing was taken, where the row does not fit as it is.
  bool Add(PyObject* row);
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
  };
  struct Column {
    DataType type;
    std::optional<PythonScalar> scalar;
    Cell cell;
  };

  static bool Read(PyObject* value, Column* column);
  void Append(size_t k);

  std::vector<Column> columns_;
  BatchBuilder builder_;
  int64_t size_ = 0;
  size_t bytes_ = 0;
};

}  // namespace flint
