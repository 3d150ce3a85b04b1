#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "row/row_schema.h"
#include "store/merge_function.h"

namespace flint {

// Merges rows of one table, of any version of its schema, column by column. Immutable, thread-safe.
class RowMerger {
 public:
  // functions[k] is for the newest version's column k.
  RowMerger(std::shared_ptr<const RowSchema> schema, std::vector<MergeFunction> functions);

  // What older and newer row make together, as a row of the newest version, in `out`, in which
  // neither may lie. False where a row is damaged, or the result longer than a row may be.
  bool Merge(std::string_view older, std::string_view newer, std::string* out) const;

 private:
  std::shared_ptr<const RowSchema> schema_;
  std::vector<MergeFunction> functions_;
};

}  // namespace flint
