#pragma once

#include "base/arrow_type.h"
#include "base/status.h"
#include "bindings/pybind.h"

namespace flint {

// Decimals of python_scalar.h. Both need the GIL.

Status DecimalToSlot(const DataType& type, PyObject* value, char* slot);
Result<PyObject*> DecimalFromSlot(const DataType& type, const char* slot);

}  // namespace flint
