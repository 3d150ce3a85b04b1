#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/arrow_abi.h"
#include "base/status.h"
#include "scan/scan_plan.h"
#include "scan/scanned_rows.h"
#include "store/database.h"
#include "store/table.h"

namespace flint {

// Where a batch ends: with whichever is reached first. It has at least one row.
struct BatchLimits {
  int64_t rows = 65536;
  size_t bytes = 8 << 20;
};

// Reads the rows of one range, one batch after another. One thread at a time; all of it requires
// a pin of the database.
class RangeReader {
 public:
  // Turns to the first row of the range, in the plan's direction. What is not cached when it is
  // read stays so without `fill_cache`.
  static Result<std::unique_ptr<RangeReader>> Open(std::shared_ptr<const ScanPlan> plan,
                                                   KeyRange range, bool fill_cache = true);

  bool at_end() const { return at_end_; }
  // The rows that come next; nullopt where there are none. Another thread may set `stop`: the batch
  // is then cut short, and the reader only good for being thrown away.
  Result<std::optional<OwnedArray>> Read(const BatchLimits& limits,
                                         const std::atomic<bool>* stop = nullptr);

  // What was read and what was not, where !at_end().
  KeyRange Done() const;
  KeyRange Rest() const;
  size_t bytes_done() const { return bytes_done_; }
  int64_t rows_done() const { return rows_done_; }

 private:
  RangeReader(std::shared_ptr<const ScanPlan> plan, KeyRange range)
      : plan_(std::move(plan)), range_(std::move(range)) {}
  // Gathers rows until the block or the batch is full, or the range at its end.
  void Gather(int64_t rows_left, size_t bytes_left);
  std::string Position() const;  // the first key of Rest(), or the first behind it

  std::shared_ptr<const ScanPlan> plan_;
  KeyRange range_;
  std::unique_ptr<Cursor> cursor_;
  bool at_end_ = false;
  int64_t rows_done_ = 0;
  size_t bytes_done_ = 0;  // of keys and values, as far as the plan reads them
  ScannedRows block_;
};

}  // namespace flint
