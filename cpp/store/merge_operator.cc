#include "store/merge_operator.h"

#include <deque>
#include <utility>

namespace flint {
namespace {

std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace

void TableMergeOperator::Replace(std::shared_ptr<const RowMerger> merger) {
  std::lock_guard<std::mutex> lock(mutex_);
  merger_ = std::move(merger);
}

// Neighbours first, then their results: what appending costs grows with the length, not its square.
bool TableMergeOperator::MergeAll(std::vector<std::string_view> rows, std::string* out) const {
  std::shared_ptr<const RowMerger> merger;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    merger = merger_;
  }
  std::deque<std::string> made;  // never moves what is in it
  while (rows.size() > 2) {
    size_t kept = 0;
    for (size_t i = 0; i < rows.size(); i += 2) {
      if (i + 1 == rows.size()) {
        rows[kept++] = rows[i];
        continue;
      }
      made.emplace_back();
      if (!merger->Merge(rows[i], rows[i + 1], &made.back())) return false;
      rows[kept++] = made.back();
    }
    rows.resize(kept);
  }
  if (rows.size() == 2) return merger->Merge(rows[0], rows[1], out);
  out->assign(rows[0]);
  return true;
}

bool TableMergeOperator::FullMergeV2(const MergeOperationInput& in,
                                     MergeOperationOutput* out) const {
  std::vector<std::string_view> rows;
  rows.reserve(in.operand_list.size() + 1);
  if (in.existing_value != nullptr) rows.push_back(ToView(*in.existing_value));
  for (const rocksdb::Slice& operand : in.operand_list) rows.push_back(ToView(operand));
  if (MergeAll(std::move(rows), &out->new_value)) return true;
  out->op_failure_scope = OpFailureScope::kMustMerge;
  return false;
}

bool TableMergeOperator::PartialMergeMulti(const rocksdb::Slice&,
                                           const std::deque<rocksdb::Slice>& operands,
                                           std::string* merged, rocksdb::Logger*) const {
  std::vector<std::string_view> rows;
  for (const rocksdb::Slice& operand : operands) rows.push_back(ToView(operand));
  return MergeAll(std::move(rows), merged);
}

}  // namespace flint
