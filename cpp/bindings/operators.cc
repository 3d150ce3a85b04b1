#include <cstring>
#include <vector>

#include "base/checksum.h"
#include "bindings/arrow.h"
#include "bindings/bindings.h"
#include "operators/key_splitter.h"

namespace flint {
namespace {

ExportedArray ToArray(const std::vector<int64_t>& values) {
  ColumnBuilder builder{DataType(TypeId::kInt64)};
  char* slots = builder.ExtendSlots(static_cast<int64_t>(values.size()));
  std::memcpy(slots, values.data(), values.size() * sizeof(int64_t));
  ArrowArray array;
  builder.Finish(&array);
  return {{"order", DataType(TypeId::kInt64), false}, OwnedArray(&array)};
}

// The order of a single batch's rows, and where parts start.
using Split = Result<RowOrder> (KeySplitter::*)(const BatchView&) const;

template <Split kSplit>
py::tuple SplitBatch(const KeySplitter& self, py::handle batch) {
  std::unique_ptr<BatchSource> source = ImportBatches(batch, "batch");
  RowOrder rows = Unwrap(WithoutGil([&]() -> Result<RowOrder> {
    FLINT_ASSIGN_OR_RETURN(std::optional<OwnedArray> array, source->Next());
    if (!array) return RowOrder{{}, {0}};
    FLINT_ASSIGN_OR_RETURN(BatchView view, BatchView::Make(source->schema(), **array));
    return (self.*kSplit)(view);
  }));
  return py::make_tuple(ToArray(rows.order), ToArray(rows.starts));
}

uint32_t Checksum(const py::buffer& data, uint32_t crc) {
  py::buffer_info info = data.request();
  return ExtendCrc32c(
      crc, {static_cast<const char*>(info.ptr), static_cast<size_t>(info.size * info.itemsize)});
}

}  // namespace

void BindOperators(py::module_& m) {
  m.def("crc32c", &Checksum, py::arg("data"), py::arg("crc") = 0);

  py::class_<KeySplitter>(m, "KeySplitter")
      .def(py::init([](py::handle key, uint32_t max_parallelism, uint32_t buckets) {
             return Unwrap(KeySplitter::Make(ImportSchema(key, "key"), max_parallelism, buckets));
           }),
           py::arg("key"), py::arg("max_parallelism"), py::arg("buckets"))
      .def("by_bucket", &SplitBatch<&KeySplitter::ByBucket>, py::arg("batch"))
      .def("by_key", &SplitBatch<&KeySplitter::ByKey>, py::arg("batch"));
}

}  // namespace flint
