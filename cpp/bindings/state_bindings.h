#pragma once

#include <memory>

#include "bindings/pybind.h"
#include "bindings/state_common.h"

namespace flint {

// How a backend's binding opens the states whose bindings stand in files of their own.
py::object OpenValueState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                          const py::object& ttl, py::object default_value);
py::object OpenListState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                         const py::object& ttl);
py::object OpenMapState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                        const py::object& ttl);
// `function` is called where the descriptor names no built-in one.
py::object OpenReducingState(std::shared_ptr<BackendBinding> owner,
                             const StateDescriptor& descriptor, const py::object& ttl,
                             py::object function);
py::object OpenAggregatingState(std::shared_ptr<BackendBinding> owner,
                                const StateDescriptor& descriptor, const py::object& ttl,
                                py::object function);
py::object OpenSortedState(std::shared_ptr<BackendBinding> owner, const StateDescriptor& descriptor,
                           const py::object& ttl);

// The methods of RocksBackend that open states.
void BindStateOpeners(py::class_<BackendBinding, std::shared_ptr<BackendBinding>>& backend);
// Those that read a state across its keys, and the timers'.
void BindStateScans(py::class_<BackendBinding, std::shared_ptr<BackendBinding>>& backend,
                    py::module_& m);
void BindTimers(py::class_<BackendBinding, std::shared_ptr<BackendBinding>>& backend);

}  // namespace flint
