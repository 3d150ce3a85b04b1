#include <algorithm>
#include <memory>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/state_bindings.h"
#include "bindings/state_common.h"
#include "bindings/state_log.h"
#include "bindings/state_many.h"
#include "state/point_table.h"

namespace flint {
namespace {

// All zeros, or None, is no version.
std::optional<VersionId> ToVersion(const std::optional<py::bytes>& bytes, const char* what) {
  if (!bytes) return std::nullopt;
  std::string_view given(*bytes);
  VersionId version;
  if (given.size() != version.size()) {
    Check(
        Status::Invalid(std::string(what) + " has 16 bytes, not " + std::to_string(given.size())));
  }
  std::copy(given.begin(), given.end(), version.begin());
  if (version == VersionId{}) return std::nullopt;
  return version;
}

py::bytes FromVersion(const VersionId& version) {
  return py::bytes(reinterpret_cast<const char*>(version.data()), version.size());
}

// What a commit wrote, as a handle wants to know it.
struct SegmentInfo {
  changelog::Segment segment;
};

// Those that are open, and what has gone since the last one came. Guarded by the GIL.
std::vector<std::weak_ptr<BackendBinding>>& Living() {
  static auto& living = *new std::vector<std::weak_ptr<BackendBinding>>();
  return living;
}

void Register(const std::shared_ptr<BackendBinding>& backend) {
  std::erase_if(Living(), [](const auto& known) { return known.expired(); });
  Living().push_back(backend);
}

// A forked child's copies of its parent's backends would take writes into caches that nobody ever
// writes out: they refuse, as the databases below them do.
void RefuseParents() {
  for (const auto& known : Living()) {
    auto backend = known.lock();
    if (backend == nullptr || !backend->context().health.ok()) continue;
    backend->context().usable = false;
    backend->context().health = backend->context().database->Enter().status();
  }
}

std::shared_ptr<BackendBinding> Open(const std::string& path, py::handle key_schema,
                                     int max_parallelism, uint16_t first_group, uint16_t last_group,
                                     size_t cache_bytes, bool changelog, bool create,
                                     bool flush_on_close, bool mmap, const std::string& compression,
                                     uint64_t memory_bytes, std::optional<py::function> clock,
                                     const py::object& timer_namespace) {
  BackendOptions options;
  options.max_parallelism = max_parallelism;
  options.first_group = first_group;
  options.last_group = last_group;
  options.cache_bytes = cache_bytes;
  options.changelog = changelog;
  options.create_if_missing = create;
  options.flush_on_close = flush_on_close;
  options.read_mode = mmap ? ReadMode::kMmap : ReadMode::kCache;
  if (compression == "none")
    options.compression = Compression::kNone;
  else if (compression == "zstd")
    options.compression = Compression::kZstdBottom;
  else if (compression != "lz4")
    Check(Status::Invalid("compression is none, lz4 or zstd"));
  options.memory_bytes = memory_bytes;
  Schema key = ImportSchema(key_schema, "key");
  auto backend = Unwrap(WithoutGil([&] { return Backend::Open(path, key, options); }));
  if (clock) {
    backend->context().clock->SetProcessingClock([ask = *clock] { return ask().cast<int64_t>(); });
  }
  auto binding = std::make_shared<BackendBinding>(std::move(backend), std::move(key));
  Register(binding);
  if (!timer_namespace.is_none()) {
    binding->DeclareTimerSpace(ColumnOf(timer_namespace, "namespace", true));
  }
  return binding;
}

std::optional<py::bytes> Version(BackendBinding& self) {
  const CommitPoint& point = self.backend().commit_point();
  if (point.between) return std::nullopt;
  return FromVersion(point.version.value_or(VersionId{}));
}

std::optional<SegmentInfo> Commit(BackendBinding& self, const std::optional<std::string>& path,
                                  const py::bytes& version, const std::optional<py::bytes>& parent,
                                  int level, bool sync) {
  CommitOptions options;
  auto id = ToVersion(version, "version");
  if (!id) Check(Status::Invalid("a version can't be all zeros"));
  options.version = *id;
  options.parent = ToVersion(parent, "parent");
  changelog::Segment written;
  if (path) {
    options.log = [&](uint64_t first_sequence) -> Result<std::unique_ptr<ChangeWriter>> {
      changelog::WriterOptions writing;
      writing.version = options.version;
      writing.parent = options.parent.value_or(VersionId{});
      writing.first_sequence = first_sequence;
      writing.level = level;
      FLINT_ASSIGN_OR_RETURN(auto log, SegmentWriter::Create(*path, writing, sync, &written));
      return std::unique_ptr<ChangeWriter>(std::move(log));
    };
  }
  bool any = Unwrap(self.Apart([&] { return self.backend().Commit(options); }));
  return any && path ? std::optional(SegmentInfo{written}) : std::nullopt;
}

void Replay(BackendBinding& self, const std::string& path, std::optional<uint64_t> size,
            std::optional<uint32_t> checksum, std::optional<uint64_t> last_sequence) {
  std::optional<changelog::Segment> expected;
  if (size || checksum || last_sequence) {
    if (!size || !checksum || !last_sequence) {
      Check(Status::Invalid("size, checksum and last_sequence are given together"));
    }
    expected.emplace();
    expected->length = *size;
    expected->checksum = *checksum;
    expected->first_sequence = *last_sequence + 1;
  }
  self.ForgetTimers();
  Check(self.Apart([&]() -> Status {
    FLINT_ASSIGN_OR_RETURN(auto segment, SegmentSource::Open(path, expected));
    return self.backend().Replay(segment.get());
  }));
}

// The value states of many keys come into the cache; all other reads stay as they are.
void Prefetch(BackendBinding& self, py::handle keys) {
  auto located = self.Locate(keys);
  Check(self.Apart([&] {
    for (StateTable* table : self.backend().tables()) {
      auto* values = dynamic_cast<PointTable*>(table);
      if (values != nullptr) FLINT_RETURN_IF_ERROR(values->Prefetch(located.keys));
    }
    return Status();
  }));
}

py::list EventTimeList(py::handle times, const std::string& what) {
  py::list all;
  for (int64_t time : ImportTimes(times, what)) {
    all.append(time == kNoTime ? py::object(py::none()) : py::int_(time));
  }
  return all;
}

void BindSegmentInfo(py::module_& m) {
  py::class_<SegmentInfo>(m, "SegmentInfo")
      .def_property_readonly("path", [](const SegmentInfo& s) { return s.segment.path; })
      .def_property_readonly("version",
                             [](const SegmentInfo& s) { return FromVersion(s.segment.version); })
      .def_property_readonly("parent",
                             [](const SegmentInfo& s) { return FromVersion(s.segment.parent); })
      .def_property_readonly("size", [](const SegmentInfo& s) { return s.segment.length; })
      .def_property_readonly("records", [](const SegmentInfo& s) { return s.segment.records; })
      .def_property_readonly("first_sequence",
                             [](const SegmentInfo& s) { return s.segment.first_sequence; })
      .def_property_readonly("last_sequence",
                             [](const SegmentInfo& s) { return s.segment.last_sequence(); })
      .def_property_readonly("checksum", [](const SegmentInfo& s) { return s.segment.checksum; });
}

}  // namespace

void BindStateBackend(py::module_& m) {
  BindSegmentInfo(m);
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                         py::cpp_function(&RefuseParents));
  m.def("event_times", &EventTimeList, py::arg("times"), py::arg("what"));
  py::class_<StateBinding, std::shared_ptr<StateBinding>> state(m, "RocksState");
  BindStateBasics<StateBinding>(state);
  py::class_<BackendBinding, std::shared_ptr<BackendBinding>> backend(m, "RocksBackend");
  backend
      // constructors
      .def_static("open", &Open, py::arg("path"), py::arg("key"), py::arg("max_parallelism"),
                  py::arg("first_group"), py::arg("last_group"), py::kw_only(),
                  py::arg("cache_bytes") = size_t{64} << 20, py::arg("changelog") = true,
                  py::arg("create") = true, py::arg("flush_on_close") = true,
                  py::arg("mmap") = false, py::arg("compression") = "lz4",
                  py::arg("memory_bytes") = 0, py::arg("clock") = py::none(),
                  py::arg("timer_namespace") = py::none())
      // properties
      .def_property_readonly("version", &Version)
      .def_property_readonly(
          "last_sequence",
          [](BackendBinding& self) { return self.backend().commit_point().last_sequence; })
      .def_property_readonly("current_key", &BackendBinding::CurrentKey)
      .def_property_readonly("closed",
                             [](BackendBinding& self) { return !self.context().health.ok(); })
      .def_property_readonly(
          "damaged", [](BackendBinding& self) { return self.context().database->damaged(); })
      // operations
      .def("set_key", &BackendBinding::SetKey, py::arg("key"))
      .def("prefetch", &Prefetch, py::arg("keys"))
      .def("commit", &Commit, py::arg("path"), py::kw_only(), py::arg("version"), py::arg("parent"),
           py::arg("level") = 1, py::arg("sync") = false)
      .def("replay", &Replay, py::arg("path"), py::kw_only(), py::arg("size") = py::none(),
           py::arg("checksum") = py::none(), py::arg("last_sequence") = py::none())
      .def(
          "checkpoint",
          [](BackendBinding& self, const std::string& directory) {
            Check(self.Apart([&] { return self.backend().Checkpoint(directory); }));
          },
          py::arg("directory"))
      .def("rest",
           [](BackendBinding& self) { Check(self.Apart([&] { return self.backend().Rest(); })); })
      .def("close",
           [](BackendBinding& self) { Check(self.Apart([&] { return self.backend().Close(); })); })
      .def("discard", [](BackendBinding& self) {
        Check(self.Apart([&] { return self.backend().Discard(); }));
      });
  BindStateOpeners(backend);
  BindStateScans(backend, m);
  BindTimers(backend);
}

}  // namespace flint
