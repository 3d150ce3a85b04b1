#pragma once

#include <string_view>

#include "base/status.h"
#include "row/row_schema.h"
#include "row/value_view.h"

namespace flint {

// Reads one stored row after another, of whatever version, as one of the newest. Nothing is
// allocated, nothing copied but widened values. `schema` must outlive it. One thread at a time.
//
//   FLINT_RETURN_IF_ERROR(reader.Open(row));
//   bool null; std::string_view value;
//   for each column k: FLINT_RETURN_IF_ERROR(reader.Read(k, &null, &value));
class RowReader {
 public:
  explicit RowReader(const RowSchema& schema) : schema_(&schema) {}

  // Turns to `row`, which must outlive what is read of it. Corruption where it can't be a row.
  Status Open(std::string_view row) {
    if (row.empty()) return Damaged(row);
    version_ = static_cast<uint8_t>(row.front());
    if (version_ >= schema_->num_versions()) return Damaged(row);
    if (!tuple_.Open(schema_->version(version_).layout, row.substr(1))) return Damaged(row);
    return Status();
  }

  // The bytes of the newest version's column k, as its layout says. They last as long as the row,
  // or, where they had to be widened, until the next call.
  Status Read(size_t k, bool* null, std::string_view* value) {
    const ColumnSource& source = schema_->source(version_, k);
    if (source.member < 0) return ReadFill(k, null, value);
    const RowVersion& version = schema_->version(version_);
    const MemberLayout& member = version.layout.members[static_cast<size_t>(source.member)];
    *null = tuple_.IsNull(member) || member.value.type.id == TypeId::kNull;
    if (*null) return Status();
    if (!tuple_.Value(member, value)) return DamagedColumn(k);
    if (source.widening != Widening::kNone) *value = WidenedTo(k, source.widening, *value);
    return Status();
  }

 private:
  Status Damaged(std::string_view row) const;
  Status DamagedColumn(size_t k) const;
  Status ReadFill(size_t k, bool* null, std::string_view* value) const;
  std::string_view WidenedTo(size_t k, Widening widening, std::string_view value);

  const RowSchema* schema_;
  size_t version_ = 0;
  TupleView tuple_;
  char wide_[kWidenedBytesMax];
};

}  // namespace flint
