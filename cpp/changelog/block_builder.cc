#include "changelog/block_builder.h"

#include "changelog/varint.h"

namespace flint::changelog {

void BlockBuilder::Add(Operation operation, uint16_t group, uint32_t table, std::string_view key,
                       std::string_view value) {
  if (operation != operation_ || group != group_ || table != table_) {
    CloseRun();
    operation_ = operation;
    group_ = group;
    table_ = table;
  }
  if (count_ == run_start_) groups_.Widen({group, group});
  ++count_;
  PushVarint(key_lengths_, static_cast<uint32_t>(key.size()));
  PushVarint(value_lengths_, static_cast<uint32_t>(value.size()));
  keys_.Append(key.data(), key.size());
  values_.Append(value.data(), value.size());
}

void BlockBuilder::CloseRun() {
  if (count_ == run_start_) return;
  runs_.Push(static_cast<uint8_t>(operation_));
  PushVarint(runs_, group_);
  PushVarint(runs_, table_);
  PushVarint(runs_, count_ - run_start_);
  run_start_ = count_;
}

std::string_view BlockBuilder::Seal() {
  CloseRun();
  values_size_ = static_cast<uint32_t>(values_.size());
  keys_size_ = static_cast<uint32_t>(keys_.size());
  values_.Reserve(raw_size());
  for (const ArrowBuffer* column : {&keys_, &key_lengths_, &value_lengths_, &runs_}) {
    values_.Append(column->data(), column->size());
  }
  return {values_.data(), values_.size()};
}

BlockHeader BlockBuilder::header() const {
  BlockHeader header;
  header.entry.count = count_;
  header.entry.raw_size = static_cast<uint32_t>(values_.size());
  header.entry.groups = groups_;
  header.keys_size = keys_size_;
  header.values_size = values_size_;
  return header;
}

void BlockBuilder::Clear() {
  count_ = run_start_ = 0;
  groups_ = KeyGroupRange();
  for (ArrowBuffer* column : {&values_, &keys_, &key_lengths_, &value_lengths_, &runs_}) {
    column->Resize(0);
  }
}

}  // namespace flint::changelog
