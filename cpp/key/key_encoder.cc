#include "key/key_encoder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "key/escaped.h"
#include "key/key_writer.h"
#include "key/ordered.h"

namespace flint {
namespace {

// Rows that go through all columns together, so that their keys stay in the nearest caches.
constexpr int64_t kBlockRows = 1024;

// Where the rows of a block are being written: all keys of one size.
struct StridedRows {
  char* base;
  int64_t stride;
  char* operator[](int64_t i) const { return base + i * stride; }
};

// The same for keys of different sizes: a cursor each.
struct CursorRows {
  char** at;
  char* operator[](int64_t i) const { return at[i]; }
};

// What a part of variable width has prepared for a block, while sizes were counted.
struct Prepared {
  std::vector<std::string_view> values;  // bytes; nulls point at kNullValue
  bool plain = false;                    // no value of the block needs escapes
  KeyWriter cells;                       // structs and lists: encoded already
  std::vector<uint32_t> cell_sizes;
};

constexpr char kNullValue = 0;

bool IsNullValue(std::string_view value) { return value.data() == &kNullValue; }

struct Block {
  const KeyPart& part;
  const ColumnView& column;
  int64_t from;
  int64_t count;
};

// ---- parts of fixed width

// The block's values as contiguous slots: in place where Arrow has them so, else gathered.
const char* Slots(const Block& block, char* scratch) {
  const ColumnView& column = block.column;
  TypeId id = column.type().id;
  if (id != TypeId::kBool && id != TypeId::kDictionary) return column.Slot(block.from);
  size_t width = static_cast<size_t>(block.part.width);
  for (int64_t i = 0; i < block.count; ++i) {
    const ColumnView* values = &column;
    int64_t row = block.from + i;
    char* out = scratch + static_cast<size_t>(i) * width;
    if (column.IsNull(row)) {
      std::memset(out, 0, width);
      continue;
    }
    while (values->type().id == TypeId::kDictionary) {
      row = values->DictionaryIndex(row);
      values = &values->child(0);
    }
    if (block.part.type.id == TypeId::kBool) {
      *out = values->Bool(row) ? 1 : 0;
    } else {
      std::memcpy(out, values->Slot(row), width);
    }
  }
  return scratch;
}

template <class Codec>
void WriteContiguous(const char* slots, int64_t count, uint64_t mask, char* out) {
  for (int64_t i = 0; i < count; ++i) {
    Codec::Encode(slots + i * Codec::kWidth, mask, out + i * Codec::kWidth);
  }
}

template <class Codec, class Rows>
void WriteSlots(const char* slots, const Block& block, Rows rows) {
  uint64_t mask = MaskOf(block.part);
  if (!block.part.marked) {
    for (int64_t i = 0; i < block.count; ++i) {
      Codec::Encode(slots + i * Codec::kWidth, mask, rows[i]);
    }
    return;
  }
  for (int64_t i = 0; i < block.count; ++i) {
    char* out = rows[i];
    *out = static_cast<char>(kPresentMarker);
    Codec::Encode(slots + i * Codec::kWidth, mask, out + 1);
  }
}

template <class Codec>
void WriteSlots(const char* slots, const Block& block, StridedRows rows) {
  if (!block.part.marked && rows.stride == Codec::kWidth) {
    return WriteContiguous<Codec>(slots, block.count, MaskOf(block.part), rows.base);
  }
  WriteSlots<Codec, StridedRows>(slots, block, rows);
}

template <class Rows>
void WriteRaw(const char* slots, const Block& block, Rows rows) {
  uint64_t mask = MaskOf(block.part);
  auto width = static_cast<size_t>(block.part.width);
  for (int64_t i = 0; i < block.count; ++i) {
    char* out = rows[i];
    if (block.part.marked) *out++ = static_cast<char>(kPresentMarker);
    CopyMasked(slots + static_cast<size_t>(i) * width, width, mask, out);
  }
}

// Overwrites what stands for the null rows.
template <class Rows>
void MarkNulls(const Block& block, Rows rows) {
  if (!block.column.MayHaveNulls()) return;
  for (int64_t i = 0; i < block.count; ++i) {
    if (!block.column.IsNull(block.from + i)) continue;
    char* out = rows[i];
    *out = static_cast<char>(block.part.null_marker);
    std::memset(out + 1, 0, static_cast<size_t>(block.part.width));
  }
}

template <class Rows>
Status WriteNested(const Block& block, Rows rows) {
  KeyWriter cell;
  for (int64_t i = 0; i < block.count; ++i) {
    cell.Clear();
    FLINT_RETURN_IF_ERROR(cell.AppendCell(block.part, block.column, block.from + i));
    if (cell.size() != static_cast<size_t>(block.part.stride())) {
      return block.part.Invalid("row " + std::to_string(block.from + i) + " is malformed");
    }
    if (cell.size() != 0) std::memcpy(rows[i], cell.bytes().data(), cell.size());
  }
  return Status();
}

template <class Rows>
Status WriteFixed(const Block& block, Rows rows) {
  const KeyPart& part = block.part;
  if (part.code == KeyCode::kStruct || part.code == KeyCode::kFixedList) {
    return WriteNested(block, rows);
  }
  std::vector<char> scratch;
  TypeId id = block.column.type().id;
  if (id == TypeId::kBool || id == TypeId::kDictionary) {
    scratch.resize(static_cast<size_t>(block.count * part.width) + 1);
  }
  const char* slots = Slots(block, scratch.data());
  if (part.code == KeyCode::kRaw) {
    WriteRaw(slots, block, rows);
  } else {
    WithCodec(part, [&](auto codec) { WriteSlots<decltype(codec)>(slots, block, rows); });
  }
  MarkNulls(block, rows);
  return Status();
}

// ---- parts of variable width: sizes first, then bytes

template <class Offset>
void GatherOffsets(const Block& block, std::string_view* values) {
  const Offset* offsets = block.column.Offsets<Offset>() + block.from;
  const char* data = block.column.data();
  for (int64_t i = 0; i < block.count; ++i) {
    values[i] = {data + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
  }
}

// Whether the block's values, one after another in memory, are free of bytes that need escapes.
bool RangeIsPlain(const std::vector<std::string_view>& values, int64_t count) {
  std::string_view first = values[0], last = values[static_cast<size_t>(count - 1)];
  auto size = static_cast<size_t>(last.data() + last.size() - first.data());
  return !NeedsEscapes({first.data(), size});
}

void GatherBytes(const Block& block, Prepared* prepared) {
  std::vector<std::string_view>& values = prepared->values;
  values.resize(kBlockRows);
  switch (block.column.type().id) {
    case TypeId::kString:
    case TypeId::kBinary:
      GatherOffsets<int32_t>(block, values.data());
      prepared->plain = RangeIsPlain(values, block.count);
      break;
    case TypeId::kLargeString:
    case TypeId::kLargeBinary:
      GatherOffsets<int64_t>(block, values.data());
      prepared->plain = RangeIsPlain(values, block.count);
      break;
    default:
      prepared->plain = false;
      for (int64_t i = 0; i < block.count; ++i) {
        if (block.column.IsNull(block.from + i)) continue;
        values[static_cast<size_t>(i)] = block.column.Bytes(block.from + i);
      }
  }
  if (!block.column.MayHaveNulls()) return;
  for (int64_t i = 0; i < block.count; ++i) {
    if (block.column.IsNull(block.from + i)) values[static_cast<size_t>(i)] = {&kNullValue, 0};
  }
}

bool IsBytes(const KeyPart& part) {
  return part.code == KeyCode::kBytes || part.code == KeyCode::kOpenBytes;
}

void AddByteSizes(const Block& block, const Prepared& prepared, uint64_t* sizes) {
  bool open = block.part.code == KeyCode::kOpenBytes;
  bool escapes = !open && !prepared.plain;
  uint64_t around = (block.part.marked ? 1 : 0) + (open ? 0 : 1);
  for (int64_t i = 0; i < block.count; ++i) {
    std::string_view value = prepared.values[static_cast<size_t>(i)];
    sizes[i] += around + value.size();
    if (escapes && NeedsEscapes(value)) sizes[i] += CountEscapes(value);
    if (IsNullValue(value)) sizes[i] -= open ? 0 : 1;
  }
}

Status AddCellSizes(const Block& block, Prepared* prepared, uint64_t* sizes) {
  prepared->cells.Clear();
  prepared->cell_sizes.resize(kBlockRows);
  for (int64_t i = 0; i < block.count; ++i) {
    size_t before = prepared->cells.size();
    FLINT_RETURN_IF_ERROR(prepared->cells.AppendCell(block.part, block.column, block.from + i));
    size_t size = prepared->cells.size() - before;
    prepared->cell_sizes[static_cast<size_t>(i)] = static_cast<uint32_t>(size);
    sizes[i] += size;
  }
  return Status();
}

// Also counts: a row's size may pass 32 bits only to be refused.
Status AddSizes(const Block& block, Prepared* prepared, uint64_t* sizes) {
  if (!IsBytes(block.part)) return AddCellSizes(block, prepared, sizes);
  GatherBytes(block, prepared);
  AddByteSizes(block, *prepared, sizes);
  return Status();
}

char* WriteValue(const KeyPart& part, std::string_view value, bool plain, uint64_t mask,
                 char* out) {
  if (IsNullValue(value)) {
    *out++ = static_cast<char>(part.null_marker);
    return out;
  }
  if (part.marked) *out++ = static_cast<char>(kPresentMarker);
  if (plain || !NeedsEscapes(value)) {
    CopyMasked(value.data(), value.size(), mask, out);
    out += value.size();
  } else {
    out = WriteEscaped(value, mask, out);
  }
  if (part.code == KeyCode::kBytes) *out++ = static_cast<char>(kEnd ^ static_cast<uint8_t>(mask));
  return out;
}

void WriteVariable(const Block& block, const Prepared& prepared, char** cursors) {
  if (!IsBytes(block.part)) {
    const char* cell = prepared.cells.bytes().data();
    for (int64_t i = 0; i < block.count; ++i) {
      size_t size = prepared.cell_sizes[static_cast<size_t>(i)];
      if (size != 0) std::memcpy(cursors[i], cell, size);
      cursors[i] += size;
      cell += size;
    }
    return;
  }
  uint64_t mask = MaskOf(block.part);
  bool plain = prepared.plain || block.part.code == KeyCode::kOpenBytes;
  for (int64_t i = 0; i < block.count; ++i) {
    std::string_view value = prepared.values[static_cast<size_t>(i)];
    cursors[i] = WriteValue(block.part, value, plain, mask, cursors[i]);
  }
}

// Encodes blocks of rows of keys of different sizes, one block after another.
class VariableBlocks {
 public:
  VariableBlocks(std::span<const KeyPart> parts, std::span<const ColumnView> columns)
      : parts_(parts), columns_(columns), prepared_(parts.size()) {
    for (const KeyPart& part : parts_) {
      if (part.fixed()) fixed_bytes_ += static_cast<uint64_t>(part.stride());
    }
  }

  Status Append(int64_t from, int64_t count, EncodedKeys* keys) {
    FLINT_RETURN_IF_ERROR(CountSizes(from, count));
    char* at = keys->Extend({sizes_, static_cast<size_t>(count)});
    for (int64_t i = 0; i < count; ++i) {
      cursors_[i] = at;
      at += sizes_[i];
    }
    for (size_t k = 0; k < parts_.size(); ++k) {
      Block block{parts_[k], columns_[k], from, count};
      if (!parts_[k].fixed()) {
        WriteVariable(block, prepared_[k], cursors_);
        continue;
      }
      FLINT_RETURN_IF_ERROR(WriteFixed(block, CursorRows{cursors_}));
      for (int64_t i = 0; i < count; ++i) cursors_[i] += parts_[k].stride();
    }
    return Status();
  }

 private:
  Status CountSizes(int64_t from, int64_t count) {
    std::fill_n(wide_sizes_, count, fixed_bytes_);
    for (size_t k = 0; k < parts_.size(); ++k) {
      if (parts_[k].fixed()) continue;
      Block block{parts_[k], columns_[k], from, count};
      FLINT_RETURN_IF_ERROR(AddSizes(block, &prepared_[k], wide_sizes_));
    }
    uint64_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      largest = std::max(largest, wide_sizes_[i]);
      sizes_[i] = static_cast<uint32_t>(wide_sizes_[i]);
    }
    if (largest > std::numeric_limits<int32_t>::max()) {
      return Status::Invalid("a key of " + std::to_string(largest) +
                             " bytes: keys are at most 2^31-1 bytes long");
    }
    return Status();
  }

  std::span<const KeyPart> parts_;
  std::span<const ColumnView> columns_;
  std::vector<Prepared> prepared_;
  uint64_t fixed_bytes_ = 0;
  uint64_t wide_sizes_[kBlockRows];
  uint32_t sizes_[kBlockRows];
  char* cursors_[kBlockRows];
};

Status AppendFixed(std::span<const KeyPart> parts, std::span<const ColumnView> columns,
                   int64_t from, int64_t count, int64_t stride, EncodedKeys* keys) {
  char* base = keys->Extend(count, stride);
  for (int64_t done = 0; done < count; done += kBlockRows) {
    char* at = base + done * stride;
    for (size_t k = 0; k < parts.size(); ++k) {
      Block block{parts[k], columns[k], from + done, std::min(kBlockRows, count - done)};
      FLINT_RETURN_IF_ERROR(WriteFixed(block, StridedRows{at, stride}));
      at += parts[k].stride();
    }
  }
  return Status();
}

// What the rows' keys take, but for escapes and nested values: worth reserving at once.
size_t EstimateBytes(std::span<const KeyPart> parts, std::span<const ColumnView> columns,
                     int64_t from, int64_t count) {
  int64_t bytes = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    const ColumnView& column = columns[k];
    bytes += count * (parts[k].fixed() ? parts[k].stride() : 2);
    TypeId id = column.type().id;
    if (id == TypeId::kString || id == TypeId::kBinary) {
      bytes += column.Offsets<int32_t>()[from + count] - column.Offsets<int32_t>()[from];
    } else if (id == TypeId::kLargeString || id == TypeId::kLargeBinary) {
      bytes += column.Offsets<int64_t>()[from + count] - column.Offsets<int64_t>()[from];
    }
  }
  return static_cast<size_t>(bytes);
}

}  // namespace

KeyEncoder::KeyEncoder(KeySchema schema) : schema_(std::move(schema)), columns_(schema_.size()) {}

KeyEncoder::KeyEncoder(KeySchema schema, size_t columns)
    : schema_(std::move(schema)), columns_(columns) {}

Status KeyEncoder::CheckNulls(std::span<const ColumnView> columns, int64_t from,
                              int64_t count) const {
  for (size_t k = 0; k < columns_; ++k) {
    if (schema_.part(k).nullable || !columns[k].MayHaveNulls()) continue;
    for (int64_t i = from; i < from + count; ++i) {
      if (columns[k].IsNull(i)) {
        return schema_.part(k).Invalid("it is declared not null, but row " + std::to_string(i) +
                                       " is null");
      }
    }
  }
  return Status();
}

Status KeyEncoder::Append(const BatchView& batch, EncodedKeys* keys) const {
  FLINT_ASSIGN_OR_RETURN(SelectedColumns columns, schema_.Select(batch));
  return Append(columns.views, 0, batch.num_rows, keys);
}

Status KeyEncoder::AppendAll(BatchSource* source, EncodedKeys* keys) const {
  while (true) {
    FLINT_ASSIGN_OR_RETURN(std::optional<OwnedArray> batch, source->Next());
    if (!batch) return Status();
    FLINT_ASSIGN_OR_RETURN(BatchView view, BatchView::Make(source->schema(), **batch));
    FLINT_RETURN_IF_ERROR(Append(view, keys));
  }
}

Status KeyEncoder::Append(std::span<const ColumnView> columns, int64_t from, int64_t count,
                          EncodedKeys* keys) const {
  if (count == 0) return Status();
  FLINT_RETURN_IF_ERROR(CheckNulls(columns, from, count));
  std::span<const KeyPart> parts(schema_.parts().data(), columns_);
  if (std::optional<int64_t> stride = schema_.FixedWidth(columns_)) {
    return AppendFixed(parts, columns, from, count, *stride, keys);
  }
  keys->Reserve(keys->size() + count,
                keys->data_bytes() + EstimateBytes(parts, columns, from, count));
  auto blocks = std::make_unique<VariableBlocks>(parts, columns);
  for (int64_t done = 0; done < count; done += kBlockRows) {
    FLINT_RETURN_IF_ERROR(blocks->Append(from + done, std::min(kBlockRows, count - done), keys));
  }
  return Status();
}

}  // namespace flint
