#include "bindings/arrow.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "bindings/bindings.h"

namespace flint {
namespace {

constexpr const char* kSchemaCapsule = "arrow_schema";
constexpr const char* kArrayCapsule = "arrow_array";
constexpr const char* kStreamCapsule = "arrow_array_stream";

// Takes over the struct inside a capsule.
template <class T>
ArrowOwned<T> Take(py::handle capsule, const char* name) {
  void* held = PyCapsule_GetPointer(capsule.ptr(), name);
  if (held == nullptr) throw py::error_already_set();
  auto* value = static_cast<T*>(held);
  if (value->release == nullptr) {
    Check(Status::Invalid(std::string("this ") + name + " capsule was used already: export anew"));
  }
  return ArrowOwned<T>(value);
}

// A capsule that owns `value` until someone takes it over.
template <class T>
py::object Give(ArrowOwned<T> value, const char* name) {
  auto held = std::make_unique<T>();
  value.MoveTo(held.get());
  PyObject* capsule = PyCapsule_New(held.get(), name, [](PyObject* capsule) {
    auto* owned = static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
    if (owned->release != nullptr) owned->release(owned);
    delete owned;
  });
  if (capsule == nullptr) throw py::error_already_set();
  held.release();
  return py::reinterpret_steal<py::object>(capsule);
}

[[noreturn]] void Refuse(py::handle object, const std::string& what, const std::string& wanted) {
  std::string type = py::str(py::type::of(object).attr("__name__"));
  throw StatusError(Status::Invalid(what + ": expected " + wanted + ", got " + type));
}

// Calls a method of another library's, which may let go of the GIL. A daemon thread that can't have
// it back, since the interpreter is gone, stops here, like GilReleased and before anything that
// the callers hold is let go of.
py::object Call(const py::object& method) {
  PyObject* result = nullptr;
  try {
    result = PyObject_CallNoArgs(method.ptr());
  } catch (...) {
    while (true) ::pause();
  }
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// The schema and the array of an object with __arrow_c_array__.
std::pair<OwnedSchema, OwnedArray> TakeArray(py::handle object) {
  auto capsules = Call(object.attr("__arrow_c_array__")).cast<py::tuple>();
  return {Take<ArrowSchema>(capsules[0], kSchemaCapsule),
          Take<ArrowArray>(capsules[1], kArrayCapsule)};
}

OwnedStream TakeStream(py::handle object) {
  py::object capsule = Call(object.attr("__arrow_c_stream__"));
  return Take<ArrowArrayStream>(capsule, kStreamCapsule);
}

// A stream of arrays that are no batches: its schema is a single column's.
Result<ImportedColumn> ReadColumn(OwnedStream stream) {
  auto error = [&] {
    const char* text = stream->get_last_error(stream.get());
    return Status::Invalid(std::string("the input stream failed: ") + (text ? text : "unknown"));
  };
  ArrowSchema schema{};
  if (stream->get_schema(stream.get(), &schema) != 0) return error();
  OwnedSchema owned(&schema);
  ImportedColumn column;
  FLINT_ASSIGN_OR_RETURN(column.field, Field::FromArrow(*owned));
  while (true) {
    ArrowArray chunk{};
    if (stream->get_next(stream.get(), &chunk) != 0) return error();
    if (chunk.release == nullptr) return column;
    column.chunks.emplace_back(&chunk);
  }
}

py::object ExportArrayOnce(ExportedArray& array, py::handle requested_schema) {
  if (array.array.empty()) {
    Check(Status::Invalid("this array was exported already: it can be taken once"));
  }
  ArrowSchema schema;
  ExportField(array.field, &schema);
  py::object schema_capsule = Give(OwnedSchema(&schema), kSchemaCapsule);
  return py::make_tuple(schema_capsule, Give(std::move(array.array), kArrayCapsule));
}

BatchSource& SourceOf(const ExportedStream& stream) {
  if (stream.source == nullptr) {
    Check(Status::Invalid("this stream was exported already: it can be read once"));
  }
  return *stream.source;
}

py::object ExportStreamOnce(ExportedStream& stream, py::handle requested_schema) {
  SourceOf(stream);
  ArrowArrayStream exported;
  ExportStream(std::exchange(stream.source, nullptr), &exported);
  return Give(OwnedStream(&exported), kStreamCapsule);
}

py::object SchemaCapsule(const Schema& schema) {
  ArrowSchema exported;
  ExportSchema(schema, &exported);
  return Give(OwnedSchema(&exported), kSchemaCapsule);
}

// A schema as Python sees it: what pyarrow.schema() takes.
struct ExportedSchemaObject {
  Schema schema;
};

}  // namespace

Schema ImportSchema(py::handle object, const std::string& what) {
  if (!py::hasattr(object, "__arrow_c_schema__")) {
    Refuse(object, what, "a schema, such as a pyarrow.Schema");
  }
  py::object capsule = Call(object.attr("__arrow_c_schema__"));
  OwnedSchema schema = Take<ArrowSchema>(capsule, kSchemaCapsule);
  Result<Schema> result = Schema::FromArrow(*schema);
  if (!result.ok()) throw StatusError(result.status().WithContext(what));
  return *std::move(result);
}

std::unique_ptr<BatchSource> ImportBatches(py::handle object, const std::string& what) {
  auto in_context = [&](auto result) {
    if (!result.ok()) throw StatusError(result.status().WithContext(what));
    return *std::move(result);
  };
  if (py::hasattr(object, "__arrow_c_stream__")) {
    OwnedStream stream = TakeStream(object);
    return in_context(WithoutGil([&] { return ImportStream(std::move(stream)); }));
  }
  if (py::hasattr(object, "__arrow_c_array__")) {
    auto [schema, array] = TakeArray(object);
    return SourceOfOne(in_context(Schema::FromArrow(*schema)), std::move(array));
  }
  Refuse(object, what,
         "a table, batch or stream: an object with __arrow_c_stream__ or __arrow_c_array__ "
         "(pyarrow.Table.from_pylist(rows) makes one of dicts, dataset.scanner().to_reader() of a "
         "dataset)");
}

ImportedColumn ImportColumn(py::handle object, const std::string& what) {
  if (py::hasattr(object, "__arrow_c_array__")) {
    auto [schema, array] = TakeArray(object);
    ImportedColumn column{Unwrap(Field::FromArrow(*schema)), {}};
    column.chunks.push_back(std::move(array));
    return column;
  }
  if (py::hasattr(object, "__arrow_c_stream__")) {
    OwnedStream stream = TakeStream(object);
    return Unwrap(WithoutGil([&] { return ReadColumn(std::move(stream)); }));
  }
  Refuse(object, what, "an array: an object with __arrow_c_array__ or __arrow_c_stream__");
}

std::optional<ExportedArray> NextBatch(BatchSource* source) {
  Field row{"", DataType(TypeId::kStruct), false};
  row.type.children = source->schema().fields;
  auto next = Unwrap(WithoutGil([&] { return source->Next(); }));
  if (!next.has_value()) return std::nullopt;
  return ExportedArray{std::move(row), *std::move(next)};
}

py::object ToPyarrowSchema(const Schema& schema) {
  py::object holder = py::cast(ExportedSchemaObject{schema});
  return py::module_::import("pyarrow").attr("schema")(holder);
}

void BindArrow(py::module_& m) {
  py::class_<ExportedSchemaObject>(m, "ArrowSchema")
      .def("__arrow_c_schema__",
           [](const ExportedSchemaObject& self) { return SchemaCapsule(self.schema); });
  py::class_<ExportedArray>(m, "ArrowArray")
      .def("__arrow_c_array__", &ExportArrayOnce, py::arg("requested_schema") = py::none());
  py::class_<ExportedStream>(m, "ArrowStream")
      .def("__arrow_c_schema__",
           [](const ExportedStream& self) { return SchemaCapsule(SourceOf(self).schema()); })
      .def("next", [](const ExportedStream& self) { return NextBatch(&SourceOf(self)); })
      .def("__arrow_c_stream__", &ExportStreamOnce, py::arg("requested_schema") = py::none());
}

}  // namespace flint
