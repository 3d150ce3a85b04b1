#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "bindings/arrow.h"
#include "bindings/pybind.h"
#include "bindings/python_key.h"
#include "bindings/python_row.h"
#include "key/key_writer.h"
#include "scan/range_scan.h"
#include "store/atomic_batch.h"
#include "store/store.h"

namespace flint {

// What the bindings of a store share.

// A table, with what turns its keys and rows into Python objects.
struct BoundTable {
  std::shared_ptr<Table> table;
  PythonKey keys;
  std::unique_ptr<const PythonRow> rows;
  KeyWriter spare_writer;  // taken for a call, and put back
  std::string spare_row;

  static BoundTable Make(std::shared_ptr<Table> table);
};

struct BoundSnapshot {
  std::shared_ptr<const Snapshot> snapshot;  // null once closed

  // null for None; Closed once it was closed; Invalid if it is another store's.
  static std::shared_ptr<const Snapshot> Of(const BoundSnapshot* bound, const Table& table);
};

// The range of keys that begin with the values of `prefix` and go on within the bounds, each a
// tuple of values for the columns that follow the prefix, or None.
struct RangeArguments {
  py::object prefix, lower, upper;
  bool inclusive_lower = true;
  bool inclusive_upper = false;
};
KeyRange ToKeyRange(const PythonKey& keys, const RangeArguments& arguments);

// Runs `work` on each batch of `rows`, without the GIL.
template <class Work>
void ForEachBatch(py::handle rows, const std::string& what, Work work) {
  std::unique_ptr<BatchSource> source = ImportBatches(rows, what);
  Check(WithoutGil([&]() -> Status {
    while (true) {
      FLINT_ASSIGN_OR_RETURN(std::optional<OwnedArray> array, source->Next());
      if (!array.has_value()) return {};
      FLINT_ASSIGN_OR_RETURN(BatchView batch, BatchView::Make(source->schema(), **array));
      FLINT_RETURN_IF_ERROR(work(batch));
      FLINT_RETURN_IF_ERROR(CheckInterrupt());
    }
  }));
}

}  // namespace flint
