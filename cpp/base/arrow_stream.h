#pragma once

#include <memory>
#include <optional>

#include "base/arrow_abi.h"
#include "base/arrow_type.h"
#include "base/status.h"

namespace flint {

// Anything that gives record batches of one schema, one after another. One thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const Schema& schema() const = 0;
  // The next batch, or nullopt at the end. After an error no further call is made.
  virtual Result<std::optional<OwnedArray>> Next() = 0;
};

// Fills `out` with a stream that owns `source` and deletes it when released. A Status becomes the
// stream's last error, its kind as a prefix: "[corruption] message", its number what the call
// returns. What the source throws becomes one, too; memory that ran out is ENOMEM.
void ExportStream(std::shared_ptr<BatchSource> source, ArrowArrayStream* out);

// Reads a stream that someone else made. Its errors
// become a Status: of the kind that their prefix names, where it was ExportStream's, else Invalid.
Result<std::unique_ptr<BatchSource>> ImportStream(OwnedStream stream);

// Reads `source` to its end: the same batches, all of them in memory, so that nothing can fail any
// more. For results that go to Python whole, where an error shall keep its kind.
Result<std::unique_ptr<BatchSource>> Collect(BatchSource* source);

// One batch, as a source.
std::unique_ptr<BatchSource> SourceOfOne(Schema schema, OwnedArray batch);

}  // namespace flint
