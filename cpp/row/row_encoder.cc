#include "row/row_encoder.h"

#include <cstring>
#include <string>
#include <utility>

#include "row/row_writer.h"
#include "row/value_encoder.h"

namespace flint {
namespace {

constexpr size_t kVersionBytes = 1;

Status AtRow(const Status& status, int64_t row) {
  return status.WithContext("row " + std::to_string(row));
}

// Copies slots of a width known to the compiler, from one place after another to `stride` apart.
template <size_t kWidth>
void CopySlots(const char* from, size_t count, const size_t* rows, char* to) {
  for (size_t i = 0; i < count; ++i) std::memcpy(to + rows[i], from + i * kWidth, kWidth);
}

void CopySlots(const char* from, size_t width, size_t count, const size_t* rows, char* to) {
  switch (width) {
    case 1:
      return CopySlots<1>(from, count, rows, to);
    case 2:
      return CopySlots<2>(from, count, rows, to);
    case 4:
      return CopySlots<4>(from, count, rows, to);
    case 8:
      return CopySlots<8>(from, count, rows, to);
    case 16:
      return CopySlots<16>(from, count, rows, to);
    default:
      for (size_t i = 0; i < count; ++i) std::memcpy(to + rows[i], from + i * width, width);
  }
}

// Adds the sizes of a string or binary column without nulls, from its offsets alone.
template <class Offset>
void AddSizes(const Offset* offsets, size_t count, size_t* sizes) {
  for (size_t i = 0; i < count; ++i) sizes[i] += static_cast<size_t>(offsets[i + 1] - offsets[i]);
}

void AddSizes(const ValueLayout& layout, const ColumnView& column, int64_t first, size_t count,
              size_t* sizes) {
  TypeId id = column.type().id;
  if (!column.MayHaveNulls() && (id == TypeId::kString || id == TypeId::kBinary)) {
    return AddSizes(column.Offsets<int32_t>() + first, count, sizes);
  }
  for (size_t i = 0; i < count; ++i) {
    int64_t row = first + static_cast<int64_t>(i);
    if (!column.IsNull(row)) sizes[i] += ValueSize(layout, column, row);
  }
}

bool HasSlots(const MemberLayout& member, const ColumnView& column) {
  return member.value.is_slot && column.type().id == member.value.type.id;
}

}  // namespace

RowEncoder::RowEncoder(std::shared_ptr<const RowSchema> schema)
    : schema_(std::move(schema)), layout_(schema_->current().layout) {}

Status RowEncoder::Encode(std::span<const ColumnView* const> columns, int64_t first,
                          int64_t count) {
  ends_.assign(1, 0);
  FLINT_RETURN_IF_ERROR(Check(columns, first, count));
  FLINT_RETURN_IF_ERROR(PlaceRows(columns, first, count));
  WriteHeads(count);
  if (layout_.variable_count > 0) cursors_.assign(static_cast<size_t>(count), 0);
  for (size_t k = 0; k < columns.size(); ++k) {
    const MemberLayout& member = layout_.members[k];
    if (member.value.fixed) {
      WriteFixed(member, *columns[k], first);
    } else {
      WriteVariable(member, *columns[k], first);
    }
  }
  return Status();
}

Status RowEncoder::Check(std::span<const ColumnView* const> columns, int64_t first,
                         int64_t count) const {
  if (columns.size() != layout_.members.size()) {
    return Status::Invalid("expected " + std::to_string(layout_.members.size()) +
                           " value columns, got " + std::to_string(columns.size()));
  }
  for (size_t k = 0; k < columns.size(); ++k) {
    const MemberLayout& member = layout_.members[k];
    const ColumnView& column = *columns[k];
    bool all_null = member.nullable && column.type().id == TypeId::kNull;
    if (!all_null && !member.value.type.SameValues(column.type())) {
      return Status::Invalid("column '" + member.name + "': expected " +
                             member.value.type.ToString() + ", got " + column.type().ToString());
    }
    bool nulls = column.MayHaveNulls() || column.type().id == TypeId::kDictionary;
    bool required = !member.nullable && member.value.type.id != TypeId::kNull && nulls;
    bool inside = !all_null && MayMissRequired(member.value, column);
    for (int64_t i = first; (required || inside) && i < first + count; ++i) {
      if (column.IsNull(i)) {
        if (!required) continue;
        return AtRow(Status::Invalid("column '" + member.name +
                                     "' is declared not null and is "
                                     "null"),
                     i);
      }
      if (inside)
        FLINT_RETURN_IF_ERROR(AtRow(CheckRequired(member.value, column, i, member.name), i));
    }
  }
  return Status();
}

Status RowEncoder::PlaceRows(std::span<const ColumnView* const> columns, int64_t first,
                             int64_t count) {
  auto rows = static_cast<size_t>(count);
  ends_.resize(rows + 1, kVersionBytes + layout_.values_at);
  size_t* sizes = ends_.data() + 1;
  for (size_t k = 0; k < columns.size(); ++k) {
    const MemberLayout& member = layout_.members[k];
    if (!member.value.fixed) AddSizes(member.value, *columns[k], first, rows, sizes);
  }
  size_t end = 0;
  for (size_t i = 0; i < rows; ++i) {
    if (Status status = CheckRowSize(sizes[i]); !status.ok()) {
      ends_.assign(1, 0);
      return AtRow(status, first + static_cast<int64_t>(i));
    }
    sizes[i] = end += sizes[i];
  }
  buffer_.Resize(end);
  return Status();
}

void RowEncoder::WriteHeads(int64_t count) {
  char version = static_cast<char>(schema_->current_version());
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    char* row = buffer_.data() + ends_[i];
    row[0] = version;
    for (uint32_t k = 0; k < layout_.null_bytes; ++k) row[kVersionBytes + k] = 0;
  }
}

void RowEncoder::WriteFixed(const MemberLayout& member, const ColumnView& column, int64_t first) {
  size_t count = ends_.size() - 1;
  char* slots = buffer_.data() + kVersionBytes + member.slot_at;
  char* nulls = buffer_.data() + kVersionBytes + member.null_byte;
  size_t width = member.value.width;
  bool copies = HasSlots(member, column);
  if (copies && !column.MayHaveNulls()) {
    return CopySlots(column.Slot(first), width, count, ends_.data(), slots);
  }
  for (size_t i = 0; i < count; ++i) {
    int64_t row = first + static_cast<int64_t>(i);
    if (column.IsNull(row)) {
      if (member.nullable) nulls[ends_[i]] = static_cast<char>(nulls[ends_[i]] | member.null_mask);
      std::memset(slots + ends_[i], 0, width);
    } else if (copies) {
      std::memcpy(slots + ends_[i], column.Slot(row), width);
    } else {
      WriteValue(member.value, column, row, slots + ends_[i]);
    }
  }
}

void RowEncoder::WriteVariable(const MemberLayout& member, const ColumnView& column,
                               int64_t first) {
  bool has_end = member.variable + 1 < layout_.variable_count;
  bool bytes = member.value.type.IsBytes();
  for (size_t i = 0; i + 1 < ends_.size(); ++i) {
    int64_t row = first + static_cast<int64_t>(i);
    char* tuple = buffer_.data() + ends_[i] + kVersionBytes;
    char* values = tuple + layout_.values_at;
    if (column.IsNull(row)) {
      tuple[member.null_byte] = static_cast<char>(tuple[member.null_byte] | member.null_mask);
    } else if (bytes) {
      std::string_view value = column.Bytes(row);
      if (!value.empty()) std::memcpy(values + cursors_[i], value.data(), value.size());
      cursors_[i] += static_cast<uint32_t>(value.size());
    } else {
      char* end = WriteValue(member.value, column, row, values + cursors_[i]);
      cursors_[i] = static_cast<uint32_t>(end - values);
    }
    if (has_end) std::memcpy(tuple + layout_.ends_at + 4 * member.variable, &cursors_[i], 4);
  }
}

}  // namespace flint
