#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrow.h"
#include "bindings/bindings.h"
#include "bindings/fast_method.h"
#include "bindings/python_key.h"
#include "key/key_group.h"

namespace flint {
namespace {

// Keys one at a time, between Python objects and the bytes that they sort by. One thread at a time.
class KeyCodec {
 public:
  KeyCodec(Schema declared, PythonKey keys, KeyGroupHash groups)
      : declared_(std::move(declared)), keys_(std::move(keys)), groups_(std::move(groups)) {}

  // `canonical`: the form that key groups are computed from, for keys and namespaces of a backend.
  static KeyCodec Make(py::handle schema, const std::vector<std::string>& descending,
                       bool canonical, uint32_t max_parallelism) {
    Schema declared = ImportSchema(schema, "key");
    auto keys = std::make_shared<const KeySchema>(
        Unwrap(canonical ? KeySchema::Canonical(declared) : KeySchema::Make(declared, descending)));
    auto groups = Unwrap(KeyGroupHash::Make(declared, max_parallelism));
    return {std::move(declared), Unwrap(PythonKey::Make(std::move(keys))), std::move(groups)};
  }

  py::bytes Encode(py::handle key) const {
    CheckNulls(key);
    KeyWriter writer;
    Check(keys_.Write(key.ptr(), &writer));
    return py::bytes(writer.bytes());
  }

  py::object Decode(const py::bytes& key) const {
    return py::reinterpret_steal<py::object>(Unwrap(keys_.Read(std::string_view(key))));
  }

  // The key group of a key of a backend's own.
  py::object GroupOf(py::handle key) {
    CheckNulls(key);
    // Encoding may run code of the user's, which may come back here.
    KeyWriter writer = std::move(writer_);
    writer.Clear();
    Check(keys_.Write(key.ptr(), &writer));
    py::int_ group(groups_.GroupOf(writer.bytes()));
    writer_ = std::move(writer);
    return group;
  }
  // The same of its bytes.
  uint16_t GroupOfBytes(const py::bytes& key) const {
    return groups_.GroupOf(std::string_view(key));
  }

 private:
  void CheckNulls(py::handle key) const {
    for (size_t k = 0; k < declared_.size(); ++k) {
      if (declared_[k].nullable) continue;
      py::handle column = key;
      if (declared_.size() > 1) {
        if (!PyTuple_Check(key.ptr()) || k >= py::len(key)) return;
        column = PyTuple_GET_ITEM(key.ptr(), static_cast<Py_ssize_t>(k));
      }
      if (!column.is_none()) continue;
      Check(Status::Invalid("key column '" + declared_[k].name + "' (" +
                            declared_[k].type.ToString() + "): None can't be a key"));
    }
  }

  Schema declared_;  // as given: which columns may be null
  PythonKey keys_;
  KeyGroupHash groups_;
  KeyWriter writer_;
};

}  // namespace

void BindKeyCodec(py::module_& m) {
  py::class_<KeyCodec> codec(m, "KeyCodec");
  codec
      // constructors
      .def(py::init(&KeyCodec::Make), py::arg("schema"), py::kw_only(),
           py::arg("descending") = std::vector<std::string>(), py::arg("canonical") = false,
           py::arg("max_parallelism") = 1)
      // operations
      .def("encode", &KeyCodec::Encode, py::arg("key"))
      .def("decode", &KeyCodec::Decode, py::arg("key"))
      .def("group_of_bytes", &KeyCodec::GroupOfBytes, py::arg("key"));
  DefineFast<KeyCodec, &KeyCodec::GroupOf>(codec, "group", "key");
}

}  // namespace flint
