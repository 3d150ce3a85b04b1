#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace flint {

// Records of the catalogue: bytes with their checksum behind them.

void SealRecord(std::string* record);
// The bytes without their checksum; Corruption where they are not what was sealed.
Result<std::string_view> OpenRecord(std::string_view record);

}  // namespace flint
