#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/arrow_builder.h"
#include "changelog/format.h"
#include "changelog/record.h"

namespace flint::changelog {

// Gathers records into the columns of one block's raw body. One thread at a time. Its memory stays
// with it when it is cleared, so that a writer reuses a few of them.
class BlockBuilder {
 public:
  // Requires a record within the format's limits, and room: count() < kBlockRecordsMax.
  void Add(Operation operation, uint16_t group, uint32_t table, std::string_view key,
           std::string_view value);

  uint32_t count() const { return count_; }
  // What the raw body will have, but for a few bytes.
  size_t raw_size() const {
    return values_.size() + keys_.size() + key_lengths_.size() + value_lengths_.size() +
           runs_.size();
  }

  // Puts the columns together. Afterwards only Clear may follow; the bytes live until then.
  std::string_view Seal();
  // What the sealed columns say of themselves: count, sizes, groups. Offset, sequence number and
  // what compression decides are left to the caller.
  BlockHeader header() const;

  void Clear();

 private:
  void CloseRun();

  uint32_t count_ = 0;
  uint32_t run_start_ = 0;  // the record at which the open run begins
  Operation operation_ = Operation::kPut;
  uint16_t group_ = 0;
  uint32_t table_ = 0;
  KeyGroupRange groups_;
  uint32_t keys_size_ = 0;
  uint32_t values_size_ = 0;
  ArrowBuffer values_;  // and, once sealed, all other columns after it
  ArrowBuffer keys_;
  ArrowBuffer key_lengths_;
  ArrowBuffer value_lengths_;
  ArrowBuffer runs_;
};

}  // namespace flint::changelog
