#include "changelog/block_builder.h"

#include <algorithm>

#include "changelog/varint.h"

namespace flint::changelog {
namespace {

constexpr size_t kRowsAtOnce = 1024;

}  // namespace

void BlockBuilder::Add(Operation operation, uint16_t group, uint32_t table, std::string_view key,
                       std::string_view value) {
  ContinueRun(operation, group, table);
  PushVarint(key_lengths_, static_cast<uint32_t>(key.size()));
  PushVarint(value_lengths_, static_cast<uint32_t>(value.size()));
  keys_.Append(key.data(), key.size());
  values_.Append(value.data(), value.size());
}

size_t BlockBuilder::AddRows(const RecordColumns& rows, int64_t from, size_t count, size_t wanted) {
  size_t key_sizes[kRowsAtOnce], value_sizes[kRowsAtOnce];
  count = std::min({count, kRowsAtOnce, size_t{kBlockRecordsMax - count_}});
  rows.keys.Sizes(from, count, key_sizes);
  rows.values.Sizes(from, count, value_sizes);
  size_t added = 0;
  size_t bytes = 0;
  while (added < count && raw_size() + bytes < wanted) {
    size_t row = static_cast<size_t>(from) + added;
    ContinueRun(rows.operation, rows.groups != nullptr ? rows.groups[row] : rows.group, rows.table);
    PushVarint(key_lengths_, static_cast<uint32_t>(key_sizes[added]));
    PushVarint(value_lengths_, static_cast<uint32_t>(value_sizes[added]));
    bytes += key_sizes[added] + value_sizes[added];
    ++added;
  }
  rows.keys.AppendTo(&keys_, from, added);
  rows.values.AppendTo(&values_, from, added);
  return added;
}

// Counts one record more, of this run or of a new one.
inline void BlockBuilder::ContinueRun(Operation operation, uint16_t group, uint32_t table) {
  if (operation != operation_ || group != group_ || table != table_) {
    CloseRun();
    operation_ = operation;
    group_ = group;
    table_ = table;
  }
  if (count_ == run_start_) groups_.Widen({group, group});
  ++count_;
}

void BlockBuilder::CloseRun() {
  if (count_ == run_start_) return;
  runs_.Push(static_cast<uint8_t>(operation_));
  PushVarint(runs_, group_);
  PushVarint(runs_, table_);
  PushVarint(runs_, count_ - run_start_);
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
