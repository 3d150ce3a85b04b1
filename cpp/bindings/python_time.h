#pragma once

#include "base/arrow_type.h"
#include "base/status.h"
#include "bindings/pybind.h"

namespace flint {

// Dates and times of python_scalar.h. All need the GIL.

bool IsTemporal(TypeId id);
Result<py::object> ZoneOf(const DataType& type);
Status TemporalToSlot(const DataType& type, PyObject* value, char* slot);
Result<PyObject*> TemporalFromSlot(const DataType& type, const py::object& zone, const char* slot);

}  // namespace flint
