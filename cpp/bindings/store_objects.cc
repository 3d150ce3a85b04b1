#include "bindings/store_objects.h"

#include <utility>

namespace flint {
namespace {

struct Bound {
  std::string bytes;
  size_t columns;
};

// The key bytes of `prefix` and, behind them, of `values`.
Bound Encode(const PythonKey& keys, const py::object& prefix, const py::object& values,
             const char* what) {
  KeyWriter writer;
  size_t before = 0, after = 0;
  for (const auto& [part, first, count] :
       {std::tuple(&prefix, size_t{0}, &before), std::tuple(&values, size_t{1}, &after)}) {
    if (part->is_none()) continue;
    if (!PyTuple_Check(part->ptr())) {
      Check(Status::Invalid(std::string(part == &prefix ? "prefix" : what) +
                            ": expected a tuple of values of key columns"));
    }
    size_t from = first == 0 ? 0 : before;
    Check(keys.WriteSome(from, part->ptr(), &writer, count)
              .WithContext(part == &prefix ? "prefix" : what));
  }
  return {std::string(writer.bytes()), before + after};
}

}  // namespace

KeyRange ToKeyRange(const PythonKey& keys, const RangeArguments& arguments) {
  const KeySchema& schema = keys.schema();
  Bound start = Encode(keys, arguments.prefix, arguments.lower, "lower");
  KeyRange range{start.bytes, std::nullopt};
  if (!arguments.lower.is_none() && !arguments.inclusive_lower) {
    auto after = schema.After(start.bytes, start.columns);
    if (!after) return {"", ""};  // nothing is greater
    range.lower = *after;
  }
  Bound end = Encode(keys, arguments.prefix, arguments.upper, "upper");
  if (arguments.upper.is_none()) {
    if (end.columns > 0) range.upper = schema.After(end.bytes, end.columns);
  } else if (arguments.inclusive_upper) {
    range.upper = schema.After(end.bytes, end.columns);
  } else {
    range.upper = std::move(end.bytes);
  }
  return range;
}

BoundTable BoundTable::Make(std::shared_ptr<Table> table) {
  const auto& schema = table->shared_schema();
  std::shared_ptr<const KeySchema> key(schema, &schema->key);
  auto keys = Unwrap(PythonKey::Make(std::move(key)));
  auto rows = Unwrap(PythonRow::ForTable(schema->row));
  return {std::move(table), std::move(keys), std::move(rows), KeyWriter(), std::string()};
}

std::shared_ptr<const Snapshot> BoundSnapshot::Of(const BoundSnapshot* bound, const Table& table) {
  if (bound == nullptr) return nullptr;
  if (bound->snapshot == nullptr) Check(Status::Closed("the snapshot was closed: take another"));
  if (bound->snapshot->database() != table.database()) {
    Check(Status::Invalid("the snapshot is another store's than table '" + table.schema().name +
                          "'"));
  }
  return bound->snapshot;
}

}  // namespace flint
