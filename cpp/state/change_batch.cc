#include "state/change_batch.h"

#include "state/row_key.h"

namespace flint {
namespace {

std::string_view View(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// Hands each change of a write batch to the log.
class Logger : public rocksdb::WriteBatch::Handler {
 public:
  Logger(const std::vector<uint32_t>& tables, size_t group_bytes, ChangeWriter* log)
      : tables_(tables), group_bytes_(group_bytes), log_(log) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    return Append(ChangeKind::kPut, family, key, value);
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    return Append(ChangeKind::kDelete, family, key, {});
  }
  rocksdb::Status MergeCF(uint32_t family, const rocksdb::Slice& key,
                          const rocksdb::Slice& operand) override {
    return Append(ChangeKind::kMerge, family, key, operand);
  }
  rocksdb::Status DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override {
    return Append(ChangeKind::kDeleteRange, family, begin, end);
  }

  const Status& error() const { return error_; }

 private:
  rocksdb::Status Append(ChangeKind kind, uint32_t family, const rocksdb::Slice& key,
                         const rocksdb::Slice& value) {
    uint32_t table = tables_[family];
    Change change{kind, kEveryGroup, table, View(key), View(value)};
    if (table == kBackendTable) {
      change.kind = ChangeKind::kMetadata;
    } else {
      change.group = GroupOf(change.key, group_bytes_);
    }
    error_ = log_->Append(change);
    return error_.ok() ? rocksdb::Status::OK() : rocksdb::Status::Aborted();
  }

  const std::vector<uint32_t>& tables_;
  size_t group_bytes_;
  ChangeWriter* log_;
  Status error_;
};

}  // namespace

void ChangeBatch::Enter(uint32_t table, Family* family) {
  family_ = family;
  if (tables_.size() <= family->GetID()) tables_.resize(family->GetID() + 1);
  tables_[family->GetID()] = table;
}

void ChangeBatch::Note(const rocksdb::Status& status) {
  if (!status.ok() && error_.ok()) {
    error_ = Status::Invalid("a state's key or value is too large: " + status.ToString());
  }
}

Status ChangeBatch::Log(ChangeWriter* log) const {
  FLINT_RETURN_IF_ERROR(error_);
  Logger logger(tables_, group_bytes_, log);
  rocksdb::Status status = batch_.Iterate(&logger);
  if (!logger.error().ok()) return logger.error();
  return status.ok() ? Status() : Status::Internal("changes can't be read: " + status.ToString());
}

}  // namespace flint
