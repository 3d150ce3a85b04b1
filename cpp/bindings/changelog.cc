#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arrow_column.h"
#include "bindings/arrow.h"
#include "bindings/bindings.h"
#include "changelog/record_source.h"
#include "changelog/writer.h"

namespace flint {
namespace {

namespace cl = changelog;
using Value = std::optional<py::bytes>;

cl::VersionId ToVersion(const py::bytes& bytes) {
  std::string_view view(bytes);
  cl::VersionId version{};
  if (view.size() != version.size()) Check(Status::Invalid("a version id has 16 bytes"));
  std::memcpy(version.data(), view.data(), version.size());
  return version;
}

py::bytes FromVersion(const cl::VersionId& version) {
  return {reinterpret_cast<const char*>(version.data()), version.size()};
}

template <class T>
T Within(int64_t value, const char* name) {
  if (std::in_range<T>(value)) return static_cast<T>(value);
  throw StatusError(Status::Invalid(std::string(name) + " must be from 0 to " +
                                    std::to_string(std::numeric_limits<T>::max()) + ", not " +
                                    std::to_string(value)));
}

cl::Operation ToOperation(int64_t operation) {
  return static_cast<cl::Operation>(Within<uint8_t>(operation, "op"));
}

uint64_t Append(cl::Writer& writer, int64_t operation, int64_t group, int64_t table,
                const py::bytes& key, const Value& value) {
  cl::Record record;
  record.operation = ToOperation(operation);
  record.group = Within<uint16_t>(group, "group");
  record.table = Within<uint32_t>(table, "table");
  record.key = std::string_view(key);
  if (value.has_value()) record.value = std::string_view(*value);
  if (cl::HasValue(record.operation) != value.has_value()) {
    Check(Status::Invalid(value.has_value() ? "a delete has no value" : "value is missing"));
  }
  // Mostly a copy, for which giving up the GIL would cost more than it is worth.
  if (std::optional<Result<uint64_t>> appended = writer.AppendAtOnce(record)) {
    return Unwrap(*std::move(appended));
  }
  return Unwrap(WithoutGil([&] { return writer.Append(record); }));
}

// A column of one chunk, or none where None was given.
class OneColumn {
 public:
  OneColumn(const py::object& object, const char* name) {
    if (object.is_none()) return;
    column_ = ImportColumn(object, name);
    if (column_.chunks.size() != 1) {
      Check(Status::Invalid(std::string(name) + " must be one array, not chunks"));
    }
    view_ = Unwrap(ColumnView::Make(column_.field.type, *column_.chunks[0]));
  }
  const ColumnView* view() const { return view_.has_value() ? &*view_ : nullptr; }

 private:
  ImportedColumn column_;
  std::optional<ColumnView> view_;
};

uint64_t AppendMany(cl::Writer& writer, int64_t operation, int64_t group, int64_t table,
                    const py::object& keys, const py::object& values, const py::object& groups) {
  OneColumn key_column(keys, "keys"), value_column(values, "values"), group_column(groups, "group");
  if (key_column.view() == nullptr) Check(Status::Invalid("keys must be an array"));
  cl::Writer::Many many;
  many.operation = ToOperation(operation);
  many.group = Within<uint16_t>(group, "group");
  many.table = Within<uint32_t>(table, "table");
  many.keys = key_column.view();
  many.values = value_column.view();
  many.groups = group_column.view();
  return Unwrap(WithoutGil([&] { return writer.AppendMany(many); }));
}

std::unique_ptr<cl::Writer> NewWriter(const std::string& path, const py::bytes& version,
                                      const py::bytes& parent, int64_t first_sequence, int level,
                                      int64_t batch_bytes, const std::string& written_by) {
  cl::WriterOptions options;
  options.version = ToVersion(version);
  options.parent = ToVersion(parent);
  options.first_sequence = Within<uint64_t>(first_sequence, "first_sequence");
  options.level = level;
  options.batch_bytes = Within<uint64_t>(batch_bytes, "batch_bytes");
  options.written_by = written_by;
  return Unwrap(WithoutGil([&] { return cl::Writer::Create(path, std::move(options)); }));
}

cl::Segment Roll(cl::Writer& writer, const std::string& path, const py::bytes& version,
                 const py::bytes& parent) {
  cl::VersionId next = ToVersion(version), from = ToVersion(parent);
  return Unwrap(WithoutGil([&] { return writer.Roll(path, next, from); }));
}

cl::Segment Close(cl::Writer& writer, bool sync) {
  cl::Durability durability = sync ? cl::Durability::kMachine : cl::Durability::kProcess;
  return Unwrap(WithoutGil([&] { return writer.Close(durability); }));
}

// What a handle says of a segment: length, last sequence number, checksum.
using Expected = std::tuple<uint64_t, uint64_t, uint32_t>;

std::unique_ptr<cl::Reader> OpenReader(const std::string& path, int64_t from_sequence,
                                       int64_t first_group, int64_t last_group,
                                       const std::optional<Expected>& expected) {
  cl::ReadOptions options;
  options.from_sequence = Within<uint64_t>(from_sequence, "from_sequence");
  options.groups = {Within<uint16_t>(first_group, "groups"),
                    Within<uint16_t>(last_group, "groups")};
  if (expected.has_value()) {
    cl::Segment segment;
    std::tie(segment.length, segment.records, segment.checksum) = *expected;
    segment.first_sequence = 1;  // so that the last one is what was given
    options.expected = segment;
  }
  return Unwrap(WithoutGil([&] { return cl::Reader::Open(path, options); }));
}

std::shared_ptr<cl::RecordSource> Records(const cl::Reader& reader,
                                          const std::vector<std::string>& columns) {
  return Unwrap(cl::RecordSource::Make(reader.FromStart(), columns));
}

std::optional<ExportedArray> NextBatch(cl::RecordSource& source) {
  std::optional<OwnedArray> batch = Unwrap(WithoutGil([&] { return source.Next(); }));
  if (!batch.has_value()) return std::nullopt;
  Field field;
  field.type = DataType(TypeId::kStruct);
  field.type.children = source.schema().fields;
  field.nullable = false;
  return ExportedArray{std::move(field), *std::move(batch)};
}

void BindSegment(py::module_& m) {
  py::class_<cl::Segment>(m, "ChangelogSegment")
      .def_property_readonly("path", [](const cl::Segment& s) { return py::bytes(s.path); })
      .def_property_readonly("version", [](const cl::Segment& s) { return FromVersion(s.version); })
      .def_property_readonly("parent", [](const cl::Segment& s) { return FromVersion(s.parent); })
      .def_readonly("length", &cl::Segment::length)
      .def_readonly("first_sequence", &cl::Segment::first_sequence)
      .def_property_readonly("last_sequence", &cl::Segment::last_sequence)
      .def_readonly("records", &cl::Segment::records)
      .def_readonly("checksum", &cl::Segment::checksum)
      .def_property_readonly("first_group", [](const cl::Segment& s) { return s.groups.first; })
      .def_property_readonly("last_group", [](const cl::Segment& s) { return s.groups.last; });
}

void BindWriter(py::module_& m) {
  py::class_<cl::Writer>(m, "ChangelogWriter")
      .def(py::init(&NewWriter), py::arg("path"), py::arg("version"), py::arg("parent"),
           py::arg("first_sequence"), py::arg("level"), py::arg("batch_bytes"),
           py::arg("written_by"))
      .def_property_readonly(
          "path",
          [](const cl::Writer& w) { return py::bytes(WithoutGil([&] { return w.path(); })); })
      .def_property_readonly(
          "last_sequence",
          [](const cl::Writer& w) { return WithoutGil([&] { return w.last_sequence(); }); })
      .def("append", &Append, py::arg("op"), py::arg("group"), py::arg("table"), py::arg("key"),
           py::arg("value"))
      .def("append_many", &AppendMany, py::arg("op"), py::arg("group"), py::arg("table"),
           py::arg("keys"), py::arg("values"), py::arg("groups"))
      .def("sync", [](cl::Writer& w) { return Unwrap(WithoutGil([&] { return w.Sync(); })); })
      .def("roll", &Roll, py::arg("path"), py::arg("version"), py::arg("parent"))
      .def("close", &Close, py::arg("sync"));
}

void BindReader(py::module_& m) {
  py::class_<cl::RecordSource, std::shared_ptr<cl::RecordSource>>(m, "ChangelogRecords")
      .def_property_readonly("schema",
                             [](const cl::RecordSource& s) { return ToPyarrowSchema(s.schema()); })
      .def("next", &NextBatch);

  py::class_<cl::Reader>(m, "ChangelogReader")
      .def(py::init(&OpenReader), py::arg("path"), py::arg("from_sequence"), py::arg("first_group"),
           py::arg("last_group"), py::arg("expected"))
      .def_property_readonly("torn", &cl::Reader::torn)
      .def_property_readonly("segment", &cl::Reader::segment, py::return_value_policy::copy)
      .def_property_readonly("written_by", &cl::Reader::written_by)
      .def("records", &Records, py::arg("columns"))
      .def(
          "stream",
          [](const cl::Reader& r, const std::vector<std::string>& columns) {
            return ExportedStream{Records(r, columns)};
          },
          py::arg("columns"));
}

}  // namespace

void BindChangelog(py::module_& m) {
  BindSegment(m);
  BindWriter(m);
  BindReader(m);
}

}  // namespace flint
