#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/arrow_stream.h"
#include "bindings/arrow.h"
#include "bindings/bindings.h"
#include "bindings/python_key.h"
#include "key/decoded_keys.h"
#include "key/key_encoder.h"
#include "key/key_group.h"

namespace flint {
namespace {

using Names = std::vector<std::string>;

KeySchema MakeSchema(const Schema& schema, const Names& descending, bool nulls_last) {
  NullOrder nulls = nulls_last ? NullOrder::kLast : NullOrder::kFirst;
  return Unwrap(KeySchema::Make(schema, descending, nulls));
}

ExportedArray EncodeKeys(py::handle data, const Names& descending, bool nulls_last) {
  std::unique_ptr<BatchSource> source = ImportBatches(data, "encode_keys");
  KeyEncoder encoder(MakeSchema(source->schema(), descending, nulls_last));
  EncodedKeys keys;
  Check(WithoutGil([&] { return encoder.AppendAll(source.get(), &keys); }));
  TypeId type = keys.large() ? TypeId::kLargeBinary : TypeId::kBinary;
  ArrowArray array;
  keys.MoveTo(&array);
  return {{"", DataType(type), false}, OwnedArray(&array)};
}

ExportedStream DecodeKeysTo(py::handle encoded, py::handle schema, const Names& descending,
                            bool nulls_last) {
  ImportedColumn column = ImportColumn(encoded, "decode_keys");
  KeySchema keys = MakeSchema(ImportSchema(schema, "decode_keys"), descending, nulls_last);
  std::unique_ptr<BatchSource> rows =
      Unwrap(DecodeKeys(std::move(keys), column.field.type, std::move(column.chunks)));
  return {Unwrap(WithoutGil([&] { return Collect(rows.get()); }))};
}

// One key from and to Python objects, and key groups: what stores do inside, shown to the tests.

PythonKey MakePythonKey(py::handle schema, const Names& descending, bool nulls_last) {
  KeySchema keys = MakeSchema(ImportSchema(schema, "schema"), descending, nulls_last);
  return Unwrap(PythonKey::Make(std::make_shared<const KeySchema>(std::move(keys))));
}

py::bytes EncodeKey(py::handle schema, py::handle key, const Names& descending, bool nulls_last) {
  KeyWriter writer;
  Check(MakePythonKey(schema, descending, nulls_last).Write(key.ptr(), &writer));
  return py::bytes(writer.bytes());
}

py::object DecodeKey(py::handle schema, const py::bytes& key, const Names& descending,
                     bool nulls_last) {
  PythonKey keys = MakePythonKey(schema, descending, nulls_last);
  return py::reinterpret_steal<py::object>(Unwrap(keys.Read(std::string_view(key))));
}

py::list KeyGroups(py::handle data, uint32_t max_parallelism) {
  std::unique_ptr<BatchSource> source = ImportBatches(data, "key_groups");
  KeyGroupHash hash = Unwrap(KeyGroupHash::Make(source->schema(), max_parallelism));
  py::list result;
  while (std::optional<OwnedArray> batch = Unwrap(source->Next())) {
    BatchView view = Unwrap(BatchView::Make(source->schema(), **batch));
    std::vector<uint16_t> groups(static_cast<size_t>(view.num_rows));
    Check(hash.GroupsOf(view.columns, 0, view.num_rows, groups.data()));
    for (uint16_t group : groups) result.append(group);
  }
  return result;
}

}  // namespace

void BindKey(py::module_& m) {
  m.def("encode_keys", &EncodeKeys, py::arg("data"), py::arg("descending"), py::arg("nulls_last"));
  m.def("decode_keys", &DecodeKeysTo, py::arg("encoded"), py::arg("schema"), py::arg("descending"),
        py::arg("nulls_last"));
  m.def("_encode_key", &EncodeKey, py::arg("schema"), py::arg("key"), py::arg("descending"),
        py::arg("nulls_last"));
  m.def("_decode_key", &DecodeKey, py::arg("schema"), py::arg("key"), py::arg("descending"),
        py::arg("nulls_last"));
  m.def("_key_groups", &KeyGroups, py::arg("data"), py::arg("max_parallelism"));
}

}  // namespace flint
