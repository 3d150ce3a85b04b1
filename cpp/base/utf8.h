#pragma once

#include <string_view>

namespace flint {

// Whether every byte is below 128: such bytes are UTF-8 however they are cut.
bool IsAscii(std::string_view bytes);

// Whether the bytes are UTF-8 as Unicode defines it: no surrogates, nothing above U+10FFFF, no
// character in more bytes than it needs, none cut short.
bool IsUtf8(std::string_view bytes);

}  // namespace flint
