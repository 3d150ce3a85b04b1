#include <map>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/store_objects.h"
#include "bindings/table_mapping.h"
#include "store/ingest.h"

namespace flint {
namespace {

std::vector<KeyColumn> KeyColumnsOf(const Schema& schema,
                                    const std::vector<std::string>& descending,
                                    const std::string& nulls) {
  if (nulls != "first" && nulls != "last") {
    Check(Status::Invalid("nulls: '" + nulls + "' is neither 'first' nor 'last'"));
  }
  std::vector<KeyColumn> columns;
  for (const Field& field : schema.fields) {
    columns.push_back({field, false, nulls == "last" ? NullOrder::kLast : NullOrder::kFirst});
  }
  for (const std::string& name : descending) {
    int at = schema.IndexOf(name);
    if (at < 0) Check(Status::Invalid("descending: there is no key column '" + name + "'"));
    columns[static_cast<size_t>(at)].descending = true;
  }
  return columns;
}

std::vector<ColumnDefault> DefaultsOf(const Schema& schema, const py::dict& defaults) {
  std::vector<ColumnDefault> packed;
  for (auto [name, value] : defaults) {
    auto column = name.cast<std::string>();
    int at = schema.IndexOf(column);
    if (at < 0) Check(Status::Invalid("defaults: there is no value column '" + column + "'"));
    auto alone = Unwrap(RowSchema::Make({{schema[static_cast<size_t>(at)]}}));
    auto packer = Unwrap(PythonRow::ForTable(alone));
    packed.push_back({column, Unwrap(packer->PackValue(0, value.ptr()))});
  }
  return packed;
}

MergeFunctions MergesOf(const std::map<std::string, std::string>& words) {
  MergeFunctions functions;
  for (const auto& [column, word] : words) functions[column] = Unwrap(ParseMergeFunction(word));
  return functions;
}

BoundTable DefineTable(Store& store, const std::string& name, py::handle key, py::handle value,
                       const std::vector<std::string>& descending, const std::string& nulls,
                       const py::dict& defaults, const std::map<std::string, std::string>& merge) {
  TableDefinition definition;
  definition.name = name;
  definition.key = KeyColumnsOf(ImportSchema(key, "key"), descending, nulls);
  definition.value = ImportSchema(value, "value");
  definition.defaults = DefaultsOf(definition.value, defaults);
  definition.merge = MergesOf(merge);
  return BoundTable::Make(Unwrap(WithoutGil([&] { return store.OpenTable(definition); })));
}

template <WriteKind kKind>
void Write(BoundTable& self, py::handle rows) {
  ForEachBatch(rows, kKind == WriteKind::kDelete ? "keys" : "rows",
               [&](const BatchView& view) { return self.table->Write(kKind, view); });
}

py::list GetMany(BoundTable& self, py::handle keys, std::optional<std::string> found,
                 std::optional<std::vector<std::string>> columns, const BoundSnapshot* snapshot) {
  GetOptions options;
  options.found = found.value_or("");
  options.columns = std::move(columns);
  options.snapshot = BoundSnapshot::Of(snapshot, *self.table);
  Field row{"", DataType(TypeId::kStruct), false};
  row.type.children = Unwrap(self.table->GetManySchema(options)).fields;
  py::list batches;
  ForEachBatch(keys, "keys", [&](const BatchView& view) -> Status {
    FLINT_ASSIGN_OR_RETURN(OwnedArray array, self.table->GetMany(view, options));
    GilTaken taken;
    batches.append(ExportedArray{row, std::move(array)});
    return {};
  });
  return batches;
}

py::object GetManySchema(BoundTable& self, std::optional<std::string> found,
                         std::optional<std::vector<std::string>> columns) {
  GetOptions options;
  options.found = found.value_or("");
  options.columns = std::move(columns);
  return ToPyarrowSchema(Unwrap(self.table->GetManySchema(options)));
}

RangeSource Scan(BoundTable& self, py::object prefix, py::object lower, py::object upper,
                 bool inclusive_lower, bool inclusive_upper, bool reverse,
                 std::optional<int64_t> limit, std::optional<std::vector<std::string>> columns,
                 const BoundSnapshot* snapshot, int64_t batch_rows) {
  ScanOptions options;
  options.range = ToKeyRange(self.keys, {prefix, lower, upper, inclusive_lower, inclusive_upper});
  options.reverse = reverse;
  options.limit = limit;
  options.columns = std::move(columns);
  options.snapshot = BoundSnapshot::Of(snapshot, *self.table);
  options.batch.rows = batch_rows;
  if (batch_rows < 1) Check(Status::Invalid("batch_rows: give at least 1"));
  if (limit.value_or(0) < 0) Check(Status::Invalid("limit: give none, or at least 0"));
  return Unwrap(RangeSource::Make(self.table, std::move(options)));
}

void DeleteRange(BoundTable& self, py::object prefix, py::object lower, py::object upper,
                 bool inclusive_lower, bool inclusive_upper) {
  KeyRange range = ToKeyRange(self.keys, {prefix, lower, upper, inclusive_lower, inclusive_upper});
  Check(WithoutGil([&] { return self.table->DeleteRange(range); }));
}

// Its files are removed without the GIL.
struct DeletedApart {
  void operator()(Ingestion* ingestion) const {
    GilReleased release;
    delete ingestion;
  }
};

// An error that a progress function raises ends the ingestion, and is what the caller then sees.
int64_t Ingest(BoundTable& self, py::handle rows, py::object progress) {
  std::optional<py::error_already_set> raised;
  auto report = [&](const IngestProgress& at) -> Status {
    GilTaken taken;
    try {
      progress(at.rows_sorted, at.rows_written);
      return {};
    } catch (py::error_already_set& error) {
      raised = std::move(error);
      return Status::Invalid("the progress function failed");
    }
  };
  Ingestion::Report wanted;
  if (!progress.is_none()) wanted = report;
  try {
    std::unique_ptr<Ingestion, DeletedApart> ingestion(
        Unwrap(Ingestion::Make(self.table, wanted)).release());
    ForEachBatch(rows, "rows", [&](const BatchView& view) { return ingestion->Add(view); });
    return Unwrap(WithoutGil([&] { return ingestion->Finish(); }));
  } catch (const StatusError&) {
    if (raised) throw std::move(*raised);
    throw;
  }
}

std::map<std::string, uint64_t> StatisticsOf(BoundTable& self) {
  Check(self.table->Usable());
  Database& database = *self.table->database();
  Check(database.Enter().status());
  auto property = [&](const char* name) { return database.Property(self.table->family(), name); };
  return {{"rows_estimated", property("rocksdb.estimate-num-keys")},
          {"file_bytes", property("rocksdb.total-sst-files-size")},
          {"live_bytes_estimated", property("rocksdb.estimate-live-data-size")},
          {"memtable_bytes", property("rocksdb.cur-size-all-mem-tables")},
          {"compaction_pending_bytes", property("rocksdb.estimate-pending-compaction-bytes")}};
}

std::shared_ptr<RangeScan> Open(const RangeSource& self) {
  return Unwrap(WithoutGil([&] { return self.Open(); }));
}

std::optional<ExportedArray> NextOf(RangeScan& self) { return NextBatch(&self); }

}  // namespace

void BindTable(py::module_& m) {
  py::class_<BoundTable>(m, "Table", py::custom_type_setup(&SetUpMapping))
      // constructors
      .def(py::init(&DefineTable), py::arg("store"), py::arg("name"), py::kw_only(), py::arg("key"),
           py::arg("value"), py::arg("descending"), py::arg("nulls"), py::arg("defaults"),
           py::arg("merge"))
      .def(py::init([](Store& store, const std::string& name) {
             return BoundTable::Make(Unwrap(store.FindTable(name)));
           }),
           py::arg("store"), py::arg("name"))
      // properties
      .def_property_readonly("name", [](BoundTable& self) { return self.table->schema().name; })
      .def_property_readonly(
          "key_schema",
          [](BoundTable& self) { return ToPyarrowSchema(self.keys.schema().schema()); })
      .def_property_readonly(
          "value_schema",
          [](BoundTable& self) { return ToPyarrowSchema(self.table->schema().row->columns()); })
      // operations
      .def("_put", &Write<WriteKind::kPut>, py::arg("rows"))
      .def("_merge", &Write<WriteKind::kMerge>, py::arg("rows"))
      .def("_delete", &Write<WriteKind::kDelete>, py::arg("keys"))
      .def("_delete_range", &DeleteRange, py::arg("prefix"), py::arg("lower"), py::arg("upper"),
           py::arg("inclusive_lower"), py::arg("inclusive_upper"))
      .def("_get_many", &GetMany, py::arg("keys"), py::arg("found"), py::arg("columns"),
           py::arg("snapshot"))
      .def("_get_many_schema", &GetManySchema, py::arg("found"), py::arg("columns"))
      .def("_scan", &Scan, py::arg("prefix"), py::arg("lower"), py::arg("upper"),
           py::arg("inclusive_lower"), py::arg("inclusive_upper"), py::arg("reverse"),
           py::arg("limit"), py::arg("columns"), py::arg("snapshot"), py::arg("batch_rows"))
      .def("_ingest", &Ingest, py::arg("rows"), py::arg("progress"))
      .def("_get", &GetOr, py::arg("key"), py::arg("default"), py::arg("snapshot"))
      .def("_compact",
           [](BoundTable& self) {
             Check(
                 WithoutGil([&] { return self.table->database()->Compact(self.table->family()); }));
           })
      .def("_statistics", &StatisticsOf);

  py::class_<RangeScan, std::shared_ptr<RangeScan>>(m, "ScanReader").def("next", &NextOf);
  py::class_<RangeSource>(m, "Scan")
      .def_property_readonly("schema",
                             [](RangeSource& self) { return ToPyarrowSchema(self.schema()); })
      .def("open", &Open)
      .def("stream", [](RangeSource& self) { return ExportedStream{Open(self)}; });
}

}  // namespace flint
