#pragma once

#include <cstdint>
#include <string_view>

namespace flint {

// Whether every byte is below 128: such bytes are UTF-8 however they are cut.
bool IsAscii(std::string_view bytes);

// Whether the bytes are UTF-8 as Unicode defines it: no surrogates, nothing above U+10FFFF, no
// character in more bytes than it needs, none cut short. Made for whole columns at once.
bool IsUtf8(std::string_view bytes);

// Whether a byte stands inside a character: UTF-8 that is cut before it is none any more.
inline bool Continues(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

}  // namespace flint
