#pragma once

#include <rocksdb/merge_operator.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/row_merger.h"

namespace flint {

// A table's merges, applied by RocksDB when it reads, flushes and compacts. What is merged is a row
// like any other. A merge that can't be made (a damaged row, one that grows too long) fails the
// reads of its key alone: flush and compaction pass its parts on as they are.
class TableMergeOperator : public rocksdb::MergeOperator {
 public:
  explicit TableMergeOperator(std::shared_ptr<const RowMerger> merger)
      : merger_(std::move(merger)) {}

  // For a table whose schema has changed while it is open.
  void Replace(std::shared_ptr<const RowMerger> merger);

  bool FullMergeV2(const MergeOperationInput& in, MergeOperationOutput* out) const override;
  bool PartialMergeMulti(const rocksdb::Slice& key, const std::deque<rocksdb::Slice>& operands,
                         std::string* merged, rocksdb::Logger* logger) const override;
  const char* Name() const override { return "flint.table"; }

 private:
  bool MergeAll(std::vector<std::string_view> rows, std::string* out) const;

  mutable std::mutex mutex_;
  std::shared_ptr<const RowMerger> merger_;
};

}  // namespace flint
