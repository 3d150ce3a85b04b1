#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "base/arrow_abi.h"
#include "base/helpers.h"
#include "base/status.h"
#include "scan/range_reader.h"
#include "scan/scan_plan.h"

namespace flint {

// A part of a range, and the batch that it begins with.
struct RangePart {
  KeyRange range;
  std::unique_ptr<RangeReader> reader;  // behind `batch`
  std::optional<OwnedArray> batch;      // none: not read, or no row there
};

// What is left of a range, in parts of about half a batch that the database's helpers read side by
// side before they are asked for, and that come out in the range's order. Twice as many parts as
// there are threads are under way or ready, a batch of each. One thread at a time. The plan must
// have a snapshot: each part is read through a cursor of its own.
class ReadAhead {
 public:
  // For what is left of the range of `reader`, which has read something. Null where that is not
  // worth it: little is left, or nobody would help. Requires a pin.
  static std::unique_ptr<ReadAhead> Make(std::shared_ptr<const ScanPlan> plan,
                                         const RangeReader& reader, const BatchLimits& limits);
  ~ReadAhead();  // Waits for what is under way, which is told to stop.
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next part of the range; nullopt at its end. `rows`: how many are still wanted; the batch
  // may have more. Requires a pin.
  Result<std::optional<RangePart>> Next(int64_t rows);

 private:
  struct Job;

  ReadAhead(std::shared_ptr<const ScanPlan> plan, KeyRange rest, const BatchLimits& limits);
  uint64_t SizeOf(std::string_view lower, std::string_view upper) const;
  bool Tighten();
  KeyRange Cut();
  void Offer(int64_t rows);
  Status Run(RangePart* part) const;

  const std::shared_ptr<const ScanPlan> plan_;
  const BatchLimits limits_;
  const uint64_t generation_;     // ForkGeneration() of the process whose helpers are at it
  uint64_t part_bytes_ = 0;       // of a part, as stored
  bool fill_cache_ = true;        // which holds all that is left, or would keep none of it
  std::optional<KeyRange> rest_;  // behind all jobs; none: nothing
  std::deque<std::unique_ptr<Job>> jobs_;
  std::atomic<bool> stop_{false};
};

}  // namespace flint
