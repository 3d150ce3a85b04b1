#pragma once

#include <rocksdb/write_batch.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "state/change_log.h"
#include "store/database.h"

namespace flint {

// Changes on their way from the cache to the changelog and to RocksDB, in one order for both. A
// state's row keys begin with its key group, of which the log makes a column; rows of the backend's
// own family (kBackendTable) are logged as metadata. One thread at a time.
class ChangeBatch {
 public:
  explicit ChangeBatch(size_t group_bytes) : group_bytes_(group_bytes) {}
  // What had the given bytes() and tables().
  ChangeBatch(size_t group_bytes, std::string bytes, std::vector<uint32_t> tables)
      : group_bytes_(group_bytes), tables_(std::move(tables)), batch_(std::move(bytes)) {}

  // What follows goes to this state.
  void Enter(uint32_t table, Family* family);
  void Put(std::string_view key, std::string_view value) {
    Note(batch_.Put(family_, S(key), S(value)));
  }
  void Delete(std::string_view key) { Note(batch_.Delete(family_, S(key))); }
  void Merge(std::string_view key, std::string_view operand) {
    Note(batch_.Merge(family_, S(key), S(operand)));
  }
  // [lower, upper)
  void DeleteRange(std::string_view lower, std::string_view upper) {
    Note(batch_.DeleteRange(family_, S(lower), S(upper)));
  }

  bool empty() const { return batch_.Count() == 0; }
  uint32_t count() const { return static_cast<uint32_t>(batch_.Count()); }
  size_t size() const { return batch_.GetDataSize(); }
  rocksdb::WriteBatch* rocksdb() { return &batch_; }
  // All that it is, for this process: families go by their numbers.
  const std::string& bytes() const { return batch_.Data(); }
  const std::vector<uint32_t>& tables() const { return tables_; }
  const Status& error() const { return error_; }

  // Appends every change, in order.
  Status Log(ChangeWriter* log) const;

 private:
  static rocksdb::Slice S(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
  void Note(const rocksdb::Status& status);

  size_t group_bytes_;
  Family* family_ = nullptr;
  std::vector<uint32_t> tables_;  // by the family's number
  rocksdb::WriteBatch batch_;
  Status error_;
};

}  // namespace flint
