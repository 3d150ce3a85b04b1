#include "store/record.h"

#include <cstdint>
#include <cstring>

#include "base/checksum.h"

namespace flint {

void SealRecord(std::string* record) {
  uint32_t crc = Crc32c(*record);
  for (int shift = 0; shift < 32; shift += 8) {
    record->push_back(static_cast<char>(crc >> shift));
  }
}

Result<std::string_view> OpenRecord(std::string_view record) {
  if (record.size() < 4) return Status::Corruption("a record of the catalogue is cut short");
  std::string_view bytes = record.substr(0, record.size() - 4);
  uint32_t stored = 0;
  for (size_t i = 0; i < 4; ++i) {
    stored |= uint32_t{static_cast<uint8_t>(record[bytes.size() + i])} << (8 * i);
  }
  if (stored != Crc32c(bytes)) {
    return Status::Corruption("a record of the catalogue does not match its checksum");
  }
  return bytes;
}

}  // namespace flint
