#pragma once

#include <cstdint>
#include <string_view>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "base/status.h"
#include "key/key_schema.h"

namespace flint {

inline constexpr uint8_t kPresentMarker = 2;

// Writes keys one value at a time: for each column of a schema in order, or for the first few where
// a prefix is wanted, one of
//   AppendNull(part)
//   AppendSlot(part, slot)     fixed width: the value as an Arrow array keeps it, a bool as a byte
//   AppendBytes(part, bytes)   strings and binaries
//   Begin(part), each field or element with its own part (part.children), End(part)
//                              structs and lists; a fixed-size list wants all its elements
// No allocation once it has grown to the size of the keys. One thread at a time.
class KeyWriter {
 public:
  // What was written since the last Clear; valid until the next call.
  std::string_view bytes() const { return {buffer_.data(), buffer_.size()}; }
  size_t size() const { return buffer_.size(); }
  void Clear() { buffer_.Resize(0); }

  // Invalid where the part is not nullable.
  Status AppendNull(const KeyPart& part);
  void AppendSlot(const KeyPart& part, const void* slot);
  void AppendBytes(const KeyPart& part, std::string_view value);
  void Begin(const KeyPart& part) {
    if (part.marked) buffer_.Push(kPresentMarker);
  }
  void End(const KeyPart& part);

  // Row `row` of a column whose values are the part's, in any layout.
  Status AppendCell(const KeyPart& part, const ColumnView& column, int64_t row);

 private:
  // Writes a present marker, where there is one, and gives room for `size` bytes after it.
  char* Room(const KeyPart& part, size_t size);
  Status AppendElements(const KeyPart& part, const ColumnView& column, int64_t row);

  ArrowBuffer buffer_;
};

}  // namespace flint
