#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/arrow_builder.h"
#include "base/status.h"
#include "key/key_schema.h"

namespace flint {

// Reads one key, value by value: KeyWriter's reverse. For each column in order TakeMarker, then, if
// a value is there, one of
//   TakeSlot(part, slot)       fixed width
//   TakeBytes(part, &value)    strings and binaries
//   each field with its own part (struct), or as many elements as the type has (fixed-size list)
//   TakeElement(part, &more) and, while there is more, the element with its own part (list)
// Bytes that no encoder writes are Corruption, by column. Reset keeps the memory. One thread at a
// time; the key must outlive it.
class KeyReader {
 public:
  KeyReader() = default;
  explicit KeyReader(std::string_view key) : rest_(key) {}
  void Reset(std::string_view key) { rest_ = key; }

  // What was not read yet.
  std::string_view rest() const { return rest_; }

  // Takes the marker, if the part has one, and the padding of a null.
  Status TakeMarker(const KeyPart& part, bool* present);
  Status TakeSlot(const KeyPart& part, void* slot);
  // `value` is valid until the next call, and while the key is.
  Status TakeBytes(const KeyPart& part, std::string_view* value);
  Status TakeElement(const KeyPart& part, bool* more);

  // Corruption where bytes are left after `last`, the key's last column.
  Status CheckNothingLeft(const KeyPart& last) const;

  // The whole value or null, appended to `out`, a builder of the part's type; nullptr: skipped.
  Status TakeCell(const KeyPart& part, ColumnBuilder* out);

 private:
  Status TakeValue(const KeyPart& part, ColumnBuilder* out);
  Status TakeFixed(const KeyPart& part, ColumnBuilder* out);
  Status TakeElements(const KeyPart& part, ColumnBuilder* out);
  Status Unescape(const KeyPart& part, std::string_view* value);

  std::string_view rest_;
  std::string unescaped_;
};

}  // namespace flint
