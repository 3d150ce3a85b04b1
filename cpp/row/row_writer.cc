#include "row/row_writer.h"

namespace flint {

Status CheckRowSize(size_t size) {
  if (size <= kRowBytesMax) return Status();
  return Status::Invalid("the row's values take " + std::to_string(size) + " bytes, at most " +
                         std::to_string(kRowBytesMax) + " can be stored");
}

}  // namespace flint
