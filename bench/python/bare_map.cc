// The least that keyed state could cost from Python: a hash map behind the same three calls.

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

namespace py = pybind11;

class BareMap {
 public:
  void SetKey(std::string key) { key_ = std::move(key); }
  int64_t Value() const {
    auto found = values_.find(key_);
    return found == values_.end() ? 0 : found->second;
  }
  void Update(int64_t value) { values_[key_] = value; }

 private:
  std::unordered_map<std::string, int64_t> values_;
  std::string key_;
};

PYBIND11_MODULE(bare_map, m) {
  py::class_<BareMap>(m, "BareMap")
      .def(py::init<>())
      .def("set_key", &BareMap::SetKey)
      .def("value", &BareMap::Value)
      .def("update", &BareMap::Update);
}
