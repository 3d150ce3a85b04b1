#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_type.h"
#include "base/status.h"
#include "row/layout.h"
#include "row/widen.h"

namespace flint {

// What rows that are older than a column hold in it, for columns that are added.
struct ColumnDefault {
  std::string column;
  std::string value;  // its bytes, as a row of the column's type holds them (row_writer.h)
};

// A column through all versions of a table.
struct RowColumn {
  uint32_t id = 0;  // never given again, so that a column dropped and added anew starts empty
  Field field;      // its type plain
  // For rows that are older than the column; none: null.
  std::optional<std::string> fill = std::nullopt;
};

struct RowVersion {
  std::vector<RowColumn> columns;
  TupleLayout layout;  // of `columns`
};

// Where the newest version's column is found in the rows of another.
struct ColumnSource {
  int member = -1;  // of that version's layout; -1: not there, rows hold `fill` or null
  Widening widening = Widening::kNone;
};

// The schemas that rows of one table have had, oldest first. A row's first byte is the number of
// the version that it was written in, so a schema changes without rewriting what is stored.
// Immutable and shared; all reading is thread-safe.
class RowSchema {
 public:
  // A history of one version, number 0.
  static Result<std::shared_ptr<const RowSchema>> Make(const Schema& columns);
  // Reads what Serialize wrote. Corruption where the bytes are not that.
  static Result<std::shared_ptr<const RowSchema>> Parse(std::string_view bytes);

  // This history with `wanted` as its newest version; this very history where it is that already.
  // Columns may be added (nullable, or with a default), dropped, moved, widened (widen.h), and made
  // nullable. Anything else is Invalid, by the column's name. Defaults of columns that are there
  // already have no say.
  Result<std::shared_ptr<const RowSchema>> Evolve(
      const Schema& wanted, const std::vector<ColumnDefault>& defaults = {}) const;

  // A compact, checksummed byte string for the store's catalogue.
  std::string Serialize() const;

  // What rows are written in and read as.
  const Schema& columns() const { return columns_; }
  uint8_t current_version() const { return static_cast<uint8_t>(versions_.size() - 1); }
  const RowVersion& current() const { return versions_.back(); }
  size_t num_versions() const { return versions_.size(); }
  const RowVersion& version(size_t v) const { return versions_[v]; }
  // Where current column k is in rows of version v.
  const ColumnSource& source(size_t v, size_t k) const { return sources_[v][k]; }

 private:
  Status AddVersion(std::vector<RowColumn> columns);
  static std::shared_ptr<const RowSchema> Finished(std::shared_ptr<RowSchema> schema);

  std::vector<RowVersion> versions_;
  uint32_t next_id_ = 0;
  Schema columns_;
  std::vector<std::vector<ColumnSource>> sources_;
};

}  // namespace flint
