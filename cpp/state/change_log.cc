#include "state/change_log.h"

namespace flint {

Status TooLarge(size_t key_bytes, size_t row_bytes) {
  return Status::Invalid("a value of " + std::to_string(row_bytes) + " bytes under a key of " +
                         std::to_string(key_bytes) + " can't be kept: a value may have " +
                         std::to_string(kValueBytesMax) + ", and both " +
                         std::to_string(kChangeBytesMax) + " together");
}

}  // namespace flint
