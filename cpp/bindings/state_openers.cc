#include "bindings/state_bindings.h"

namespace flint {
namespace {

using Owner = std::shared_ptr<BackendBinding>;

StateDescriptor Describe(StateKind kind, const std::string& name, py::handle value,
                         const py::object& space, const std::string& codec) {
  StateDescriptor state;
  state.kind = kind;
  state.name = name;
  state.value = ColumnOf(value, "value", kind == StateKind::kMap);
  if (!space.is_none()) state.space = ColumnOf(space, "namespace", true);
  state.value_codec = codec;
  return state;
}

py::object OpenValue(Owner self, const std::string& name, py::handle type, py::object default_value,
                     const py::object& space, const py::object& ttl, const std::string& codec) {
  auto state = Describe(StateKind::kValue, name, type, space, codec);
  return OpenValueState(std::move(self), state, ttl, std::move(default_value));
}

py::object OpenList(Owner self, const std::string& name, py::handle type, const py::object& space,
                    const py::object& ttl, const std::string& codec) {
  auto state = Describe(StateKind::kList, name, type, space, codec);
  return OpenListState(std::move(self), state, ttl);
}

py::object OpenMap(Owner self, const std::string& name, py::handle key, py::handle value,
                   const py::object& space, const py::object& ttl, const std::string& key_codec,
                   const std::string& codec) {
  auto state = Describe(StateKind::kMap, name, value, space, codec);
  state.user_key = UserKeyColumns(key);
  state.key_codec = key_codec;
  return OpenMapState(std::move(self), state, ttl);
}

py::object OpenReducing(Owner self, const std::string& name, py::handle type, py::object function,
                        const py::object& space, const py::object& ttl, const std::string& codec) {
  auto state = Describe(StateKind::kReducing, name, type, space, codec);
  if (py::isinstance<py::str>(function)) state.function = function.cast<std::string>();
  return OpenReducingState(std::move(self), state, ttl, std::move(function));
}

py::object OpenAggregating(Owner self, const std::string& name, py::object function,
                           py::handle accumulator, const py::object& space, const py::object& ttl,
                           const std::string& codec) {
  auto state = Describe(StateKind::kAggregating, name, accumulator, space, codec);
  return OpenAggregatingState(std::move(self), state, ttl, std::move(function));
}

py::object OpenSorted(Owner self, const std::string& name, py::handle key, py::handle value,
                      const std::vector<std::string>& descending, const py::object& space,
                      const py::object& ttl, const std::string& key_codec,
                      const std::string& codec) {
  auto state = Describe(StateKind::kSorted, name, value, space, codec);
  state.user_key = UserKeyColumns(key);
  state.descending = descending;
  state.key_codec = key_codec;
  return OpenSortedState(std::move(self), state, ttl);
}

}  // namespace

void BindStateOpeners(py::class_<BackendBinding, Owner>& backend) {
  auto space = py::arg("namespace") = py::none();
  auto ttl = py::arg("ttl") = py::none();
  auto codec = py::arg("codec") = "";
  auto key_codec = py::arg("key_codec") = "";
  backend
      .def("value_state", &OpenValue, py::arg("name"), py::arg("type"), py::kw_only(),
           py::arg("default") = py::none(), space, ttl, codec)
      .def("list_state", &OpenList, py::arg("name"), py::arg("type"), py::kw_only(), space, ttl,
           codec)
      .def("map_state", &OpenMap, py::arg("name"), py::arg("key"), py::arg("value"), py::kw_only(),
           space, ttl, key_codec, codec)
      .def("reducing_state", &OpenReducing, py::arg("name"), py::arg("type"), py::arg("function"),
           py::kw_only(), space, ttl, codec)
      .def("aggregating_state", &OpenAggregating, py::arg("name"), py::arg("function"),
           py::kw_only(), py::arg("accumulator"), space, ttl, codec)
      .def("sorted_state", &OpenSorted, py::arg("name"), py::arg("key"), py::arg("value"),
           py::kw_only(), py::arg("descending") = std::vector<std::string>(), space, ttl, key_codec,
           codec);
}

}  // namespace flint
