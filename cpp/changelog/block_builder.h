#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/arrow_builder.h"
#include "changelog/bytes_column.h"
#include "changelog/format.h"
#include "changelog/record.h"
#include "changelog/varint.h"

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
           std::string_view value) {
    ContinueRun(operation, group, table);
    AddSize(key_lengths_, key.size());
    AddSize(value_lengths_, value.size());
    keys_.Append(key.data(), key.size());
    values_.Append(value.data(), value.size());
    raw_size_ += key.size() + value.size();
  }
  // Adds rows from..from+count-1, or the first of them: until raw_size() has reached `wanted`, or
  // one of its own limits. Returns how many: at least one where there is room for one.
  size_t AddRows(const RecordColumns& rows, int64_t from, size_t count, size_t wanted);

  uint32_t count() const { return count_; }
  // What the raw body will have, but for a few bytes.
  size_t raw_size() const { return raw_size_; }

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
  // What the records of a run share, in one number.
  static uint64_t RunOf(Operation operation, uint16_t group, uint32_t table) {
    return uint64_t{table} << 32 | uint64_t{group} << 8 | static_cast<uint8_t>(operation);
  }
  static constexpr uint64_t kNoRun = ~uint64_t{0};

  // Counts one record more, of this run or of a new one.
  void ContinueRun(Operation operation, uint16_t group, uint32_t table) {
    uint64_t run = RunOf(operation, group, table);
    if (run != run_) BeginRun(run);
    ++count_;
  }
  void BeginRun(uint64_t run);
  void CloseRun();

  void AddSize(ArrowBuffer& lengths, size_t size) {
    if (size < 0x80) [[likely]] {
      lengths.Push(static_cast<uint8_t>(size));
      ++raw_size_;
    } else {
      raw_size_ -= lengths.size();
      PushVarint(lengths, static_cast<uint32_t>(size));
      raw_size_ += lengths.size();
    }
  }

  uint32_t count_ = 0;
  uint32_t run_start_ = 0;  // the record at which the open run begins
  uint64_t run_ = kNoRun;   // the open one
  size_t raw_size_ = 0;     // of all columns
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
