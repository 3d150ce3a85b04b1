#pragma once

#include "bindings/pybind.h"

namespace flint {

// One function for each file of this directory: it adds its classes and functions to the module.
void BindErrors(py::module_& m);
void BindBuildInfo(py::module_& m);
void BindArrow(py::module_& m);
void BindChangelog(py::module_& m);
void BindRows(py::module_& m);
void BindKey(py::module_& m);
void BindKeyCodec(py::module_& m);
void BindOperators(py::module_& m);
void BindPutOut(py::module_& m);
void BindRowLoop(py::module_& m);
void BindTimerLoop(py::module_& m);

void BindStore(py::module_& m);
void BindTable(py::module_& m);
void BindStateBackend(py::module_& m);
void BindStateGathering(py::module_& m);
void BindStateList(py::module_& m);
void BindStateMap(py::module_& m);
void BindStateSorted(py::module_& m);
void BindStateValue(py::module_& m);

}  // namespace flint
