#include "state/segment_replay.h"

#include <string>

#include "changelog/replay.h"

namespace flint {
namespace {

rocksdb::Slice S(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

class DatabaseSink : public changelog::ReplaySink {
 public:
  explicit DatabaseSink(const ReplayTarget& target) : target_(target) {}

  Status Apply(const changelog::SortedBatch& batch) override {
    batch_.Clear();
    for (const changelog::Record& record : batch.records) FLINT_RETURN_IF_ERROR(Add(record));
    if (target_.mark) FLINT_RETURN_IF_ERROR(target_.mark(batch.last_sequence, &batch_));
    return target_.database->Write(&batch_, /*sorted=*/true);
  }

 private:
  Status Add(const changelog::Record& record) {
    if (record.operation == changelog::Operation::kMetadata) {
      return target_.metadata ? target_.metadata(record, &batch_) : Status();
    }
    FLINT_RETURN_IF_ERROR(FindTable(record));
    rocksdb::Status added;
    switch (record.operation) {
      case changelog::Operation::kPut:
        added = batch_.Put(family_, S(record.key), S(record.value));
        break;
      case changelog::Operation::kDelete:
        added = batch_.Delete(family_, S(record.key));
        break;
      case changelog::Operation::kMerge:
        if (!merges_) return Refused(record, "it is a merge, and its table has no merge operator");
        added = batch_.Merge(family_, S(record.key), S(record.value));
        break;
      case changelog::Operation::kDeleteRange:
        if (record.value < record.key) return Refused(record, "its range ends before it begins");
        added = batch_.DeleteRange(family_, S(record.key), S(record.value));
        break;
      case changelog::Operation::kMetadata:
        break;
    }
    return added.ok() ? Status() : Refused(record, added.ToString());
  }

  static Status Refused(const changelog::Record& record, const std::string& why) {
    return Status::Corruption("record " + std::to_string(record.sequence) +
                              " can't be replayed: " + why);
  }

  // Records come by tables, so the last one is mostly the one.
  Status FindTable(const changelog::Record& record) {
    if (family_ != nullptr && record.table == table_) return Status();
    auto found = target_.tables.find(record.table);
    if (found == target_.tables.end()) {
      return Status::Invalid("record " + std::to_string(record.sequence) + " is of table " +
                             std::to_string(record.table) + ", which the replay was not given");
    }
    table_ = record.table;
    family_ = found->second;
    rocksdb::ColumnFamilyDescriptor described;
    rocksdb::Status status = family_->GetDescriptor(&described);
    if (!status.ok()) return Status::Internal("a family has no options: " + status.ToString());
    merges_ = described.options.merge_operator != nullptr;
    return Status();
  }

  const ReplayTarget& target_;
  rocksdb::WriteBatch batch_;
  uint32_t table_ = 0;
  Family* family_ = nullptr;
  bool merges_ = false;  // that family can
};

}  // namespace

Status ReplaySegment(changelog::Reader* reader, const ReplayTarget& target) {
  DatabaseSink sink(target);
  return changelog::Replay(reader, &sink).WithContext("replay of " + reader->segment().path);
}

}  // namespace flint
