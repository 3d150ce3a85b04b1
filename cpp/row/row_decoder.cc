#include "row/row_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "row/value_decoder.h"
#include "row/value_view.h"

namespace flint {
namespace {

using Rows = std::span<const std::string_view>;

std::string_view TupleOf(std::string_view row) { return row.substr(1); }

// Rows that have been checked to be of `layout`'s least size at least.
TupleView Opened(const TupleLayout& layout, std::string_view row) {
  TupleView tuple;
  static_cast<void>(tuple.Open(layout, TupleOf(row)));
  return tuple;
}

bool AnyNull(const MemberLayout& member, Rows rows) {
  if (!member.nullable) return false;
  uint8_t any = 0;
  for (std::string_view row : rows) any |= static_cast<uint8_t>(row[1 + member.null_byte]);
  return (any & member.null_mask) != 0;
}

template <size_t kWidth>
void GatherSlots(Rows rows, size_t at, char* to) {
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(to + i * kWidth, rows[i].data() + at, kWidth);
  }
}

// Slots without nulls, a whole column at a time.
void GatherSlots(Rows rows, size_t at, size_t width, char* to) {
  switch (width) {
    case 1:
      return GatherSlots<1>(rows, at, to);
    case 2:
      return GatherSlots<2>(rows, at, to);
    case 4:
      return GatherSlots<4>(rows, at, to);
    case 8:
      return GatherSlots<8>(rows, at, to);
    case 16:
      return GatherSlots<16>(rows, at, to);
    default:
      for (size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(to + i * width, rows[i].data() + at, width);
      }
  }
}

// Strings or binaries without nulls, many at a time.
bool DecodeAllBytes(const TupleLayout& layout, const MemberLayout& member, Rows rows,
                    ColumnBuilder* out) {
  constexpr size_t kAtOnce = 256;
  std::array<std::string_view, kAtOnce> values;
  while (!rows.empty()) {
    const size_t count = std::min(kAtOnce, rows.size());
    for (size_t i = 0; i < count; ++i) {
      if (!Opened(layout, rows[i]).Value(member, &values[i])) return false;
    }
    out->AppendAllBytes({values.data(), count});
    rows = rows.subspan(count);
  }
  return true;
}

bool DecodeValues(const TupleLayout& layout, const MemberLayout& member, Rows rows,
                  ColumnBuilder* out) {
  for (std::string_view row : rows) {
    TupleView tuple = Opened(layout, row);
    std::string_view value;
    if (tuple.IsNull(member)) {
      out->AppendNull();
    } else if (!tuple.Value(member, &value) || !AppendValue(member.value, value, out)) {
      return false;
    }
  }
  return true;
}

void DecodeWidened(const TupleLayout& layout, const MemberLayout& member, Rows rows,
                   Widening widening, ColumnBuilder* out) {
  int width = out->type().FixedWidth();
  char wide[kWidenedBytesMax];
  for (std::string_view row : rows) {
    TupleView tuple = Opened(layout, row);
    if (tuple.IsNull(member)) {
      out->AppendNull();
      continue;
    }
    Widen(widening, {tuple.Slot(member), member.value.width}, width, wide);
    out->AppendSlot(wide);
  }
}

Status DamagedRow(const std::string& what) {
  return Status::Corruption("a stored row is damaged: " + what);
}

}  // namespace

RowDecoder::RowDecoder(std::shared_ptr<const RowSchema> schema, std::vector<int> columns)
    : schema_(std::move(schema)), columns_(std::move(columns)) {
  for (int k : columns_) {
    const RowColumn& column = schema_->current().columns[static_cast<size_t>(k)];
    if (column.fill.has_value()) fill_bytes_max_ = std::max(fill_bytes_max_, column.fill->size());
  }
}

RowDecoder::RowDecoder(std::shared_ptr<const RowSchema> schema)
    : RowDecoder(schema, [&] {
        std::vector<int> all(schema->columns().size());
        std::iota(all.begin(), all.end(), 0);
        return all;
      }()) {}

Status RowDecoder::Decode(Rows rows, std::span<ColumnBuilder* const> out) const {
  auto alike = [](std::string_view a, std::string_view b) {
    if (a.data() == nullptr || b.data() == nullptr) return a.data() == b.data();
    return !a.empty() && !b.empty() && a.front() == b.front();
  };
  while (!rows.empty()) {
    size_t run = 1;
    while (run < rows.size() && alike(rows[0], rows[run])) ++run;
    FLINT_RETURN_IF_ERROR(DecodeRun(rows.first(run), out));
    rows = rows.subspan(run);
  }
  return Status();
}

// Rows of one version, or all absent.
Status RowDecoder::DecodeRun(Rows rows, std::span<ColumnBuilder* const> out) const {
  if (rows[0].data() == nullptr) {
    for (ColumnBuilder* column : out) {
      for (size_t i = 0; i < rows.size(); ++i) column->AppendNull();
    }
    return Status();
  }
  if (rows[0].empty()) return DamagedRow("it is empty");
  size_t version = static_cast<uint8_t>(rows[0].front());
  FLINT_RETURN_IF_ERROR(CheckRows(rows, version));
  for (size_t k = 0; k < out.size(); ++k) {
    if (!DecodeColumn(rows, version, static_cast<size_t>(columns_[k]), out[k])) {
      const Field& field = schema_->columns()[static_cast<size_t>(columns_[k])];
      return DamagedValue(field.type).WithContext("column '" + field.name + "'");
    }
  }
  return Status();
}

Status RowDecoder::CheckRows(Rows rows, size_t version) const {
  if (version >= schema_->num_versions()) {
    return DamagedRow("it names schema version " + std::to_string(version) + ", the newest is " +
                      std::to_string(schema_->current_version()));
  }
  const TupleLayout& layout = schema_->version(version).layout;
  for (std::string_view row : rows) {
    TupleView tuple;
    if (!tuple.Open(layout, TupleOf(row))) {
      return DamagedRow("it has " + std::to_string(row.size()) +
                        " bytes, which no row of version " + std::to_string(version) + " has");
    }
  }
  return Status();
}

bool RowDecoder::DecodeColumn(Rows rows, size_t version, size_t column, ColumnBuilder* out) const {
  const ColumnSource& source = schema_->source(version, column);
  const RowColumn& wanted = schema_->current().columns[column];
  if (source.member < 0 || source.widening == Widening::kNull) {
    const ValueLayout& value = schema_->current().layout.members[column].value;
    bool filled = source.member < 0 && wanted.fill.has_value();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!filled) {
        out->AppendNull();
      } else if (!AppendValue(value, *wanted.fill, out)) {
        return false;
      }
    }
    return true;
  }
  const TupleLayout& layout = schema_->version(version).layout;
  const MemberLayout& member = layout.members[static_cast<size_t>(source.member)];
  if (source.widening != Widening::kNone) {
    DecodeWidened(layout, member, rows, source.widening, out);
    return true;
  }
  if (member.value.is_slot && !AnyNull(member, rows)) {
    char* slots = out->ExtendSlots(static_cast<int64_t>(rows.size()));
    GatherSlots(rows, 1 + member.slot_at, member.value.width, slots);
    return true;
  }
  if (member.value.type.IsBytes() && !member.value.fixed && !AnyNull(member, rows)) {
    return DecodeAllBytes(layout, member, rows, out);
  }
  return DecodeValues(layout, member, rows, out);
}

}  // namespace flint
