#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/status.h"

namespace flint {

// As many pieces as a system call takes here: fewer than any kernel's limit.
inline constexpr size_t kPiecesAtOnce = 64;

// Writes all pieces in order, many by one call. `write(const iovec*, int)` takes pieces as writev
// does and returns, as Result<size_t>, how many bytes of them it has written: it goes on behind
// those. Stops at the first error.
template <class Write>
Status WritePieces(std::span<const std::string_view> pieces, Write write) {
  size_t done = 0;  // of the first piece, so many bytes are written
  while (!pieces.empty()) {
    iovec vectors[kPiecesAtOnce];
    size_t count = std::min(pieces.size(), kPiecesAtOnce);
    for (size_t i = 0; i < count; ++i) {
      vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
    }
    vectors[0] = {const_cast<char*>(pieces[0].data() + done), pieces[0].size() - done};
    FLINT_ASSIGN_OR_RETURN(size_t written, write(vectors, static_cast<int>(count)));
    done += written;
    while (!pieces.empty() && done >= pieces[0].size()) {
      done -= pieces[0].size();
      pieces = pieces.subspan(1);
    }
  }
  return Status();
}

}  // namespace flint
