#include "changelog/record_block.h"

#include <algorithm>
#include <utility>

#include "changelog/varint.h"

namespace flint::changelog {
namespace {

// Reads `count` lengths into `ends` (a zero first) and returns what follows, or nullptr where they
// do not add up to `total`.
const uint8_t* DecodeLengths(const uint8_t* at, const uint8_t* end, uint32_t count, uint32_t total,
                             std::vector<uint32_t>* ends) {
  ends->resize(count + size_t{1});
  uint32_t* out = ends->data();
  uint64_t sum = 0;
  *out = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t length;
    at = ReadVarint(at, end, &length);
    if (at == nullptr) return nullptr;
    sum += length;
    if (sum > total) return nullptr;
    *++out = static_cast<uint32_t>(sum);
  }
  return sum == total ? at : nullptr;
}

Status Damaged(const IndexEntry& entry, const char* what) {
  return Status::Corruption("the block at offset " + std::to_string(entry.offset) + " " + what);
}

}  // namespace

Status RecordBlock::Decode(const BlockHeader& header, ArrowBuffer raw) {
  const IndexEntry& entry = header.entry;
  raw_ = std::move(raw);
  first_sequence_ = entry.first_sequence;
  values_size_ = header.values_size;
  const uint8_t* end = reinterpret_cast<const uint8_t*>(raw_.data()) + raw_.size();
  const uint8_t* at = end - raw_.size() + header.values_size + header.keys_size;
  at = DecodeLengths(at, end, entry.count, header.keys_size, &key_ends_);
  if (at != nullptr) {
    at = DecodeLengths(at, end, entry.count, header.values_size, &value_ends_);
  }
  if (at == nullptr) return Damaged(entry, "has lengths that do not fit its columns");
  return DecodeRuns(at, end, entry);
}

Status RecordBlock::DecodeRuns(const uint8_t* at, const uint8_t* end, const IndexEntry& entry) {
  runs_.clear();
  rows_ = entry.count;
  uint32_t row = 0;
  KeyGroupRange groups;
  while (at < end) {
    uint8_t operation = *at++;
    uint32_t group, table, count;
    if ((at = ReadVarint(at, end, &group)) == nullptr ||
        (at = ReadVarint(at, end, &table)) == nullptr ||
        (at = ReadVarint(at, end, &count)) == nullptr) {
      return Damaged(entry, "ends in the middle of a run");
    }
    if (operation >= kOperations || group > 0xFFFF || count == 0 || count > entry.count - row) {
      return Damaged(entry, "has a run that cannot be");
    }
    Run run{static_cast<Operation>(operation), static_cast<uint16_t>(group), table, row,
            row + count};
    if (!HasValue(run.operation) && value_ends_[run.end] != value_ends_[run.begin]) {
      return Damaged(entry, "has a deletion with a value");
    }
    groups.Widen({run.group, run.group});
    runs_.push_back(run);
    row = run.end;
  }
  if (row != entry.count) return Damaged(entry, "has fewer runs than records");
  if (groups != entry.groups) return Damaged(entry, "has other key groups than its header says");
  return Status();
}

void RecordBlock::Select(uint64_t from_sequence, KeyGroupRange groups) {
  uint64_t skipped = from_sequence > first_sequence_ ? from_sequence - first_sequence_ : 0;
  auto out = runs_.begin();
  rows_ = 0;
  for (Run run : runs_) {
    if (!groups.Holds(run.group) || run.end <= skipped) continue;
    run.begin = std::max(run.begin, static_cast<uint32_t>(skipped));
    rows_ += run.end - run.begin;
    *out++ = run;
  }
  runs_.erase(out, runs_.end());
}

ArrowBuffer RecordBlock::ReleaseBytes() {
  runs_.clear();
  rows_ = 0;
  return std::move(raw_);
}

}  // namespace flint::changelog
