#pragma once

#include "bindings/store_objects.h"

namespace flint {

// Single rows of a table: table[key], table[key] = row, del table[key], key in table. They stand in
// the type's own slots, since what a call through pybind11 costs is as much as a read.
void SetUpMapping(PyHeapTypeObject* type);

// The row, or `absent`.
py::object GetOr(BoundTable& table, py::handle key, py::object absent,
                 const BoundSnapshot* snapshot);

}  // namespace flint
