#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace flint {

// The one checksum of every flintstate format: CRC-32C (Castagnoli), by the processor's own
// instruction where it has one. Finds every single flipped bit and every burst up to 32 bits.

// Crc32c("123456789") == 0xE3069283.
uint32_t Crc32c(std::string_view bytes);

// The checksum of a+b, given that of a: ExtendCrc32c(Crc32c(a), b) == Crc32c(a + b).
uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes);

}  // namespace flint
