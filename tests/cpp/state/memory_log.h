#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "state/change_log.h"

namespace flint {

// A segment that was written, in memory.
struct MemorySegment : public ChangeSource {
  struct Record {
    Change change;
    std::string key, value;
  };

  std::string name() const override { return "segment"; }
  std::optional<VersionId> version() const override { return its_version; }
  std::optional<VersionId> parent() const override { return its_parent; }
  uint64_t first_sequence() const override { return first; }
  uint64_t last_sequence() const override { return first + records.size() - 1; }
  Status ForEach(uint16_t from, uint16_t to,
                 const std::function<Status(const Change&)>& visit) override {
    uint64_t sequence = first;
    for (const Record& record : records) {
      Change change = record.change;
      change.sequence = sequence++;
      if (change.group < from || change.group > to) continue;
      change.key = record.key;
      change.value = record.value;
      FLINT_RETURN_IF_ERROR(visit(change));
    }
    return {};
  }

  VersionId its_version{};
  std::optional<VersionId> its_parent;
  uint64_t first = 0;
  std::vector<Record> records;
};

class MemoryWriter : public ChangeWriter {
 public:
  // A segment whose writing fails, where `broken`.
  MemoryWriter(MemorySegment* segment, bool broken) : segment_(segment), broken_(broken) {}

  Status Append(const Change& change) override {
    segment_->records.push_back({change, std::string(change.key), std::string(change.value)});
    return {};
  }
  Result<uint64_t> Finish() override {
    if (broken_) return Status::IO("the disk is full");
    return segment_->last_sequence();
  }

 private:
  MemorySegment* segment_;
  bool broken_;
};

}  // namespace flint
