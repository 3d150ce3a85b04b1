#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// libFuzzer's entry point. Reads the bytes as a changelog segment, in several ways; every second
// input (by its first byte) has its checksums mended before, so that what lies behind them is
// reached too. Whatever the bytes are, the reader must neither crash nor contradict itself.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace flint::changelog {

// Gives file header, blocks and end record the checksums and offsets that they should have, as far
// as the blocks follow each other.
void MendChecksums(std::string* file);

}  // namespace flint::changelog
