#include <map>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/store_objects.h"
#include "store/checkpoint.h"
#include "store/table_file.h"

namespace flint {
namespace {

template <class T>
T WordOf(const std::map<std::string, T>& words, const std::string& option,
         const std::string& word) {
  auto found = words.find(word);
  if (found != words.end()) return found->second;
  std::string known;
  for (const auto& [name, value] : words) known += (known.empty() ? "'" : ", '") + name + "'";
  throw StatusError(Status::Invalid(option + ": '" + word + "' is none of " + known));
}

Durability DurabilityOf(const std::string& word) {
  return WordOf<Durability>({{"none", Durability::kNone},
                             {"process", Durability::kProcess},
                             {"machine", Durability::kMachine}},
                            "durability", word);
}

Compression CompressionOf(const std::string& word) {
  return WordOf<Compression>({{"none", Compression::kNone},
                              {"lz4", Compression::kLz4},
                              {"zstd", Compression::kZstdBottom}},
                             "compression", word);
}

ReadMode ReadModeOf(const std::string& word) {
  return WordOf<ReadMode>({{"cache", ReadMode::kCache}, {"mmap", ReadMode::kMmap}}, "read_mode",
                          word);
}

std::shared_ptr<Store> OpenStore(const py::bytes& path, uint64_t memory,
                                 const std::string& durability, bool read_only, bool create,
                                 const std::string& compression, const std::string& read_mode,
                                 int threads) {
  StoreOptions options;
  options.memory_bytes = memory;
  options.durability = DurabilityOf(durability);
  options.read_only = read_only;
  options.create_if_missing = create;
  options.compression = CompressionOf(compression);
  options.read_mode = ReadModeOf(read_mode);
  options.threads = threads;
  std::string directory = path;
  return Unwrap(WithoutGil([&] { return Store::Open(directory, options); }));
}

std::map<std::string, uint64_t> StatisticsOf(Store& store) {
  Database& database = store.database();
  Check(database.Enter().status());
  return {{"memory_bytes", database.memory().bytes()},
          {"memory_used_bytes", database.memory().used_bytes()},
          {"sequence", database.LastSequence()}};
}

template <WriteKind kKind>
void WriteTo(AtomicBatch& batch, BoundTable& table, py::handle rows) {
  ForEachBatch(rows, kKind == WriteKind::kDelete ? "keys" : "rows",
               [&](const BatchView& view) { return batch.Write(*table.table, kKind, view); });
}

void DeleteRangeIn(AtomicBatch& batch, BoundTable& table, py::object prefix, py::object lower,
                   py::object upper, bool inclusive_lower, bool inclusive_upper) {
  KeyRange range = ToKeyRange(table.keys, {prefix, lower, upper, inclusive_lower, inclusive_upper});
  Check(WithoutGil([&] { return batch.DeleteRange(*table.table, range); }));
}

}  // namespace

void BindStore(py::module_& m) {
  m.def(
      "verify_table_file",
      [](const std::string& path) { Check(WithoutGil([&] { return VerifyTableFile(path); })); },
      py::arg("path"));
  py::class_<Store, std::shared_ptr<Store>>(m, "Store")
      // constructors
      .def(py::init(&OpenStore), py::arg("path"), py::kw_only(), py::arg("memory"),
           py::arg("durability"), py::arg("read_only"), py::arg("create"), py::arg("compression"),
           py::arg("read_mode"), py::arg("threads"))
      // properties
      .def_property_readonly("closed", [](Store& self) { return self.database().closed(); })
      .def_property_readonly("read_only", [](Store& self) { return self.database().read_only(); })
      // operations
      .def("tables", &Store::TableNames)
      .def(
          "drop_table",
          [](Store& self, const std::string& name) {
            Check(WithoutGil([&] { return self.DropTable(name); }));
          },
          py::arg("name"))
      .def("snapshot",
           [](Store& self) { return BoundSnapshot{Unwrap(self.database().NewSnapshot())}; })
      .def("batch", [](Store& self) { return AtomicBatch(self.shared_database()); })
      .def(
          "checkpoint",
          [](Store& self, const py::bytes& path, bool sync_linked_files) {
            std::string directory = path;
            Check(WithoutGil(
                [&] { return MakeCheckpoint(self.database(), directory, {sync_linked_files}); }));
          },
          py::arg("path"), py::kw_only(), py::arg("sync_linked_files"))
      .def("flush", [](Store& self) { Check(WithoutGil([&] { return self.database().Flush(); })); })
      .def("statistics", &StatisticsOf)
      .def("close", [](Store& self) { Check(WithoutGil([&] { return self.Close(); })); });

  py::class_<BoundSnapshot>(m, "Snapshot").def("close", [](BoundSnapshot& self) {
    self.snapshot.reset();
  });

  py::class_<AtomicBatch>(m, "Batch")
      .def("put", &WriteTo<WriteKind::kPut>, py::arg("table"), py::arg("rows"))
      .def("merge", &WriteTo<WriteKind::kMerge>, py::arg("table"), py::arg("rows"))
      .def("delete", &WriteTo<WriteKind::kDelete>, py::arg("table"), py::arg("keys"))
      .def("delete_range", &DeleteRangeIn, py::arg("table"), py::kw_only(),
           py::arg("prefix") = py::none(), py::arg("lower") = py::none(),
           py::arg("upper") = py::none(), py::arg("inclusive_lower") = true,
           py::arg("inclusive_upper") = false)
      .def("commit", [](AtomicBatch& self) { Check(WithoutGil([&] { return self.Commit(); })); });
}

}  // namespace flint
