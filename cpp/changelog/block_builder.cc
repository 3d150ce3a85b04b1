#include "changelog/block_builder.h"

#include <algorithm>

namespace flint::changelog {
namespace {

constexpr size_t kRowsAtOnce = 1024;

uint16_t GroupOf(uint64_t run) { return static_cast<uint16_t>(run >> 8); }

}  // namespace

size_t BlockBuilder::AddRows(const RecordColumns& rows, int64_t from, size_t count, size_t wanted) {
  size_t key_sizes[kRowsAtOnce], value_sizes[kRowsAtOnce];
  // As many as are likely to fit, so that sizes are seldom looked up for nothing.
  size_t likely = kRowsAtOnce / 16;
  if (count_ > 0 && wanted > raw_size_) likely = (wanted - raw_size_) / (raw_size_ / count_) + 1;
  count = std::min({count, kRowsAtOnce, likely, size_t{kBlockRecordsMax - count_}});
  rows.keys.Sizes(from, count, key_sizes);
  rows.values.Sizes(from, count, value_sizes);
  size_t added = 0;
  while (added < count && raw_size_ < wanted) {
    size_t row = static_cast<size_t>(from) + added;
    ContinueRun(rows.operation, rows.groups != nullptr ? rows.groups[row] : rows.group, rows.table);
    AddSize(key_lengths_, key_sizes[added]);
    AddSize(value_lengths_, value_sizes[added]);
    raw_size_ += key_sizes[added] + value_sizes[added];
    ++added;
  }
  rows.keys.AppendTo(&keys_, from, added);
  rows.values.AppendTo(&values_, from, added);
  return added;
}

void BlockBuilder::BeginRun(uint64_t run) {
  CloseRun();
  run_ = run;
  uint16_t group = GroupOf(run);
  groups_.Widen({group, group});
}

void BlockBuilder::CloseRun() {
  if (count_ == run_start_) return;
  size_t before = runs_.size();
  runs_.Push(static_cast<uint8_t>(run_));
  PushVarint(runs_, GroupOf(run_));
  PushVarint(runs_, static_cast<uint32_t>(run_ >> 32));
  PushVarint(runs_, count_ - run_start_);
  raw_size_ += runs_.size() - before;
  run_start_ = count_;
}

ArrowBuffer* BlockBuilder::Seal() {
  CloseRun();
  values_size_ = static_cast<uint32_t>(values_.size() - kBlockHeaderSize);
  keys_size_ = static_cast<uint32_t>(keys_.size());
  values_.Reserve(kBlockHeaderSize + raw_size() + kAlignment);  // and filling, where stored as is
  for (const ArrowBuffer* column : {&keys_, &key_lengths_, &value_lengths_, &runs_}) {
    values_.Append(column->data(), column->size());
  }
  return &values_;
}

BlockHeader BlockBuilder::header() const {
  BlockHeader header;
  header.entry.count = count_;
  header.entry.groups = groups_;
  header.keys_size = keys_size_;
  header.values_size = values_size_;
  return header;
}

void BlockBuilder::Clear() {
  count_ = run_start_ = 0;
  run_ = kNoRun;
  raw_size_ = 0;
  groups_ = KeyGroupRange();
  for (ArrowBuffer* column : {&keys_, &key_lengths_, &value_lengths_, &runs_}) column->Resize(0);
  values_.Resize(kBlockHeaderSize);
}

void BlockBuilder::ReserveLike(const BlockBuilder& other) {
  // Sealing puts all columns behind the values.
  values_.Reserve(kBlockHeaderSize + other.raw_size() + kAlignment);
  keys_.Reserve(other.keys_.size());
  key_lengths_.Reserve(other.key_lengths_.size());
  value_lengths_.Reserve(other.value_lengths_.size());
}

}  // namespace flint::changelog
