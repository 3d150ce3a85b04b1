#pragma once

#include <memory>
#include <vector>

#include "base/arrow_abi.h"
#include "base/arrow_stream.h"
#include "base/arrow_type.h"
#include "base/status.h"
#include "key/key_schema.h"

namespace flint {

// The keys in some binary arrays (of any layout, all of `type`), decoded a batch at a time. Invalid
// where `type` is no binary or a key is null.
Result<std::unique_ptr<BatchSource>> DecodeKeys(KeySchema schema, const DataType& type,
                                                std::vector<OwnedArray> chunks);

}  // namespace flint
