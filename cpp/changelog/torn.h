#pragma once

#include <cstdint>
#include <string_view>

#include "base/file.h"
#include "base/status.h"
#include "changelog/format.h"

namespace flint::changelog {

// How a file without its end came to end where it does: the rules of docs/format/changelog.md
// ("Torn or damaged"), a function each.

// A block or an end record that is whole begins at `from` or after it.
Result<bool> SomethingWholeAfter(const ReadFile& file, uint32_t salt, uint64_t from);

// Bytes [from, to) were cut short by a crash, and not changed after they were written: the file
// ends in a zero byte, or a sector's share of them was never written.
Result<bool> LooksUnwritten(const ReadFile& file, uint64_t from, uint64_t to);

// All bytes from `from` on are zero.
Result<bool> OnlyZerosFrom(const ReadFile& file, uint64_t from);

// Body and filling of the block are what its header says.
Result<bool> BlockIsWhole(const ReadFile& file, const IndexEntry& entry);

}  // namespace flint::changelog
