#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/arrow_builder.h"
#include "base/status.h"
#include "changelog/format.h"
#include "changelog/record.h"

namespace flint::changelog {

// The records of one block, decoded: the bytes of all keys and values, and where each ends. Checked
// as a whole when decoded, so that reading it cannot fail. It may be narrowed to the records that a
// reader was asked for. Owns its bytes; may be reused for block after block. Copying is off.
class RecordBlock {
 public:
  // Neighbouring records with the same operation, key group and table.
  struct Run {
    Operation operation;
    uint16_t group;
    uint32_t table;
    uint32_t begin;  // rows begin..end-1
    uint32_t end;
  };

  // Takes over `raw`, the decompressed body that belongs to `header`. All records are selected.
  Status Decode(const BlockHeader& header, ArrowBuffer raw);
  // Narrows the selection to sequence numbers from `from_sequence` on and to `groups`.
  void Select(uint64_t from_sequence, KeyGroupRange groups);
  // Gives the memory back for the next Decode; the block is empty afterwards.
  ArrowBuffer ReleaseBytes();

  // The selected rows, in order; `rows()` of them altogether.
  const std::vector<Run>& runs() const { return runs_; }
  size_t rows() const { return rows_; }

  // Of the block, selected or not.
  uint64_t last_sequence() const { return first_sequence_ + key_ends_.size() - 2; }

  // Of row i, whether selected or not.
  uint64_t sequence(uint32_t i) const { return first_sequence_ + i; }
  std::string_view key(uint32_t i) const { return Slice(keys(), key_ends_, i); }
  std::string_view value(uint32_t i) const { return Slice(raw_.data(), value_ends_, i); }

  // Columns as they lie: row i is bytes ends[i]..ends[i+1] of keys() or values().
  const char* keys() const { return raw_.data() + values_size_; }
  const char* values() const { return raw_.data(); }
  const std::vector<uint32_t>& key_ends() const { return key_ends_; }
  const std::vector<uint32_t>& value_ends() const { return value_ends_; }

  // Calls visit(const Record&) for each selected record; the views live as long as the block.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const Run& run : runs_) {
      for (uint32_t i = run.begin; i < run.end; ++i) {
        visit(Record{sequence(i), run.operation, run.group, run.table, key(i), value(i)});
      }
    }
  }

 private:
  static std::string_view Slice(const char* data, const std::vector<uint32_t>& ends, uint32_t i) {
    return {data + ends[i], ends[i + 1] - ends[i]};
  }
  Status DecodeRuns(const uint8_t* at, const uint8_t* end, const IndexEntry& entry);

  uint64_t first_sequence_ = 0;
  size_t rows_ = 0;
  size_t values_size_ = 0;
  ArrowBuffer raw_;  // values, then keys, then what is decoded below
  std::vector<uint32_t> key_ends_;
  std::vector<uint32_t> value_ends_;
  std::vector<Run> runs_;
};

}  // namespace flint::changelog
