#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// Types as bytes, for catalogues. A field is its Arrow format string, its name, its flags and its
// children, depth first; every string and count is preceded by its size as a varint.
// docs/format/row.md says it byte by byte.

void AppendVarint(uint64_t value, std::string* out);
void AppendString(std::string_view text, std::string* out);
void AppendField(const Field& field, std::string* out);

// Takes values off the front of bytes that nobody vouches for: each call checks what it takes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  size_t size() const { return rest_.size(); }
  Result<uint64_t> Varint();
  Result<std::string_view> String();
  Result<Field> TakeField();

 private:
  std::string_view rest_;
};

}  // namespace flint
