#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/arrow_builder.h"
#include "changelog/bytes_column.h"
#include "changelog/format.h"
#include "changelog/record.h"

namespace flint::changelog {

// Rows that share operation and table, by columns.
struct RecordColumns {
  Operation operation = Operation::kPut;
  uint32_t table = 0;
  uint16_t group = 0;                // of all rows, where `groups` is null
  const uint16_t* groups = nullptr;  // one for each row
  BytesColumn keys;
  BytesColumn values;
};

// Gathers records into the columns of one block's raw body. One thread at a time. Its memory stays
// with it when it is cleared, so that a writer reuses a few of them.
class BlockBuilder {
 public:
  BlockBuilder() { Clear(); }

  // Requires a record within the format's limits, and room: count() < kBlockRecordsMax.
  void Add(Operation operation, uint16_t group, uint32_t table, std::string_view key,
           std::string_view value);
  // Adds rows from..from+count-1, or the first of them: until raw_size() has reached `wanted`, or
  // one of its own limits. Returns how many: at least one where there is room for one.
  size_t AddRows(const RecordColumns& rows, int64_t from, size_t count, size_t wanted);

  uint32_t count() const { return count_; }
  // What the raw body will have, but for a few bytes.
  size_t raw_size() const {
    return values_.size() - kBlockHeaderSize + keys_.size() + key_lengths_.size() +
           value_lengths_.size() + runs_.size();
  }

  // Puts the columns together, behind kBlockHeaderSize bytes that are left free for a header.
  // Afterwards only Clear may follow; the bytes live until then.
  ArrowBuffer* Seal();
  // What the sealed columns say of themselves: count, groups, sizes of columns. Offset, sequence
  // number and what compression decides are left to the caller.
  BlockHeader header() const;

  void Clear();
  // Takes the memory that as many records as `other` holds will need, rather than bit by bit.
  void ReserveLike(const BlockBuilder& other);

 private:
  void ContinueRun(Operation operation, uint16_t group, uint32_t table);
  void CloseRun();

  uint32_t count_ = 0;
  uint32_t run_start_ = 0;  // the record at which the open run begins
  Operation operation_ = Operation::kPut;
  uint16_t group_ = 0;
  uint32_t table_ = 0;
  KeyGroupRange groups_;
  uint32_t keys_size_ = 0;
  uint32_t values_size_ = 0;
  ArrowBuffer values_;  // after room for a header; once sealed, all other columns after it
  ArrowBuffer keys_;
  ArrowBuffer key_lengths_;
  ArrowBuffer value_lengths_;
  ArrowBuffer runs_;
};

}  // namespace flint::changelog
