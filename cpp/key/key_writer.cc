#include "key/key_writer.h"

#include <cstring>

#include "key/escaped.h"
#include "key/ordered.h"

namespace flint {

char* KeyWriter::Room(const KeyPart& part, size_t size) {
  size_t before = buffer_.size();
  size_t marker = part.marked ? 1 : 0;
  buffer_.Resize(before + marker + size);
  char* at = buffer_.data() + before;
  if (part.marked) *at = static_cast<char>(kPresentMarker);
  return at + marker;
}

Status KeyWriter::AppendNull(const KeyPart& part) {
  if (!part.nullable) return part.Invalid("it is declared not null, but a value is null");
  char* padding = Room(part, part.fixed() ? static_cast<size_t>(part.width) : 0);
  padding[-1] = static_cast<char>(part.null_marker);
  if (part.fixed()) std::memset(padding, 0, static_cast<size_t>(part.width));
  return Status();
}

void KeyWriter::AppendSlot(const KeyPart& part, const void* slot) {
  char* out = Room(part, static_cast<size_t>(part.width));
  const char* value = static_cast<const char*>(slot);
  uint64_t mask = MaskOf(part);
  if (part.code == KeyCode::kRaw) {
    return CopyMasked(value, static_cast<size_t>(part.width), mask, out);
  }
  WithCodec(part, [&](auto codec) { codec.Encode(value, mask, out); });
}

void KeyWriter::AppendBytes(const KeyPart& part, std::string_view value) {
  uint64_t mask = MaskOf(part);
  if (part.code == KeyCode::kOpenBytes) {
    return CopyMasked(value.data(), value.size(), mask, Room(part, value.size()));
  }
  size_t size = value.size() + CountEscapes(value);
  char* out = Room(part, size + 1);
  if (size == value.size()) {
    CopyMasked(value.data(), size, mask, out);
  } else {
    WriteEscaped(value, mask, out);
  }
  out[size] = static_cast<char>(kEnd ^ static_cast<uint8_t>(mask));
}

void KeyWriter::End(const KeyPart& part) {
  if (part.code == KeyCode::kList) {
    buffer_.Push(static_cast<uint8_t>(kEnd ^ static_cast<uint8_t>(MaskOf(part))));
  }
}

Status KeyWriter::AppendCell(const KeyPart& part, const ColumnView& column, int64_t row) {
  if (column.IsNull(row)) return AppendNull(part);
  if (column.type().id == TypeId::kDictionary) {
    return AppendCell(part, column.child(0), column.DictionaryIndex(row));
  }
  switch (part.code) {
    case KeyCode::kStruct:
      Begin(part);
      for (size_t k = 0; k < part.children.size(); ++k) {
        FLINT_RETURN_IF_ERROR(AppendCell(part.children[k], column.child(k), row));
      }
      break;
    case KeyCode::kFixedList:
    case KeyCode::kList:
      return AppendElements(part, column, row);
    case KeyCode::kBytes:
    case KeyCode::kOpenBytes:
      AppendBytes(part, column.Bytes(row));
      break;
    default: {
      char bit = part.type.id == TypeId::kBool && column.Bool(row) ? 1 : 0;
      AppendSlot(part, part.type.id == TypeId::kBool ? &bit : column.Slot(row));
    }
  }
  return Status();
}

Status KeyWriter::AppendElements(const KeyPart& part, const ColumnView& column, int64_t row) {
  Begin(part);
  auto [first, end] = column.ListRange(row);
  for (int64_t i = first; i < end; ++i) {
    FLINT_RETURN_IF_ERROR(AppendCell(part.children[0], column.child(0), i));
  }
  End(part);
  return Status();
}

}  // namespace flint
