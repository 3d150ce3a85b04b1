#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arrow_abi.h"
#include "base/arrow_stream.h"
#include "base/arrow_type.h"
#include "bindings/pybind.h"

namespace flint {

// Arrow in and out of Python by the PyCapsule protocol, so that any library's objects will do. All
// of these want the GIL; what they return does not.

// ---- in: an object that lacks the method asked for raises InvalidError, `what` naming it

// Any object with __arrow_c_schema__ that is a schema (pyarrow.Schema, ...).
Schema ImportSchema(py::handle object, const std::string& what);

// Tables, batches and streams: any object with __arrow_c_stream__ or __arrow_c_array__. Its Next
// may be called without the GIL.
std::unique_ptr<BatchSource> ImportBatches(py::handle object, const std::string& what);

// One column: pyarrow's arrays and chunked arrays, polars' series and the like.
struct ImportedColumn {
  Field field;
  std::vector<OwnedArray> chunks;
};
ImportedColumn ImportColumn(py::handle object, const std::string& what);

// ---- out

// What bindings return for one array: has __arrow_c_array__, once. `pyarrow.array(it)` takes it.
struct ExportedArray {
  Field field;
  OwnedArray array;
};

// What bindings return for many batches: has __arrow_c_stream__, once. `pyarrow.table(it)`,
// `pyarrow.RecordBatchReader.from_stream(it)` take it.
struct ExportedStream {
  std::shared_ptr<BatchSource> source;
};

// The next batch of a source, read without the GIL; none at the end. For Python that iterates: what
// goes wrong keeps its kind, which a C stream's reader would not know.
std::optional<ExportedArray> NextBatch(BatchSource* source);

// A pyarrow.Schema.
py::object ToPyarrowSchema(const Schema& schema);

}  // namespace flint
