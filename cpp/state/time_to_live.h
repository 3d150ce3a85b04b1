#pragma once

#include <rocksdb/compaction_filter.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "state/stored_value.h"

namespace flint {

enum class TimeDomain : uint8_t { kProcessing, kEvent };

// How long values live, as whoever opens a state declares it. It is not part of what is stored:
// values carry the time of their writing, or none, and live by what is declared when they are read.
struct TimeToLive {
  int64_t milliseconds = 0;  // 0: for ever
  TimeDomain domain = TimeDomain::kProcessing;
  bool refresh_on_read = false;
  bool return_expired = false;  // once, if they are not cleaned up before

  bool enabled() const { return milliseconds > 0; }
  bool operator==(const TimeToLive&) const = default;
};

// The times of a backend, in milliseconds since 1970; kNoTime where there is none. Threads that
// compact read what was last seen, so that a clock of the user's is asked on the user's thread
// alone.
class StateClock {
 public:
  StateClock();  // processing time is the system's

  void SetProcessingClock(std::function<int64_t()> clock) { clock_ = std::move(clock); }
  // May run code of the user's.
  int64_t AskProcessingTime() const;

  // The watermark never goes back.
  void AdvanceWatermark(int64_t milliseconds);
  int64_t watermark() const { return watermark_.load(std::memory_order_relaxed); }
  // The event time of the row, or timer, that calls are about.
  void SetRowTime(int64_t milliseconds) { row_time_ = milliseconds; }
  int64_t row_time() const { return row_time_; }

  // For compactions: what can't be seen at this time never will be.
  int64_t LastSeen(TimeDomain domain) const;

 private:
  std::function<int64_t()> clock_;
  mutable std::atomic<int64_t> processing_{0};
  std::atomic<int64_t> watermark_{kNoTime};
  int64_t row_time_ = kNoTime;
};

// What time it is for one call on a state. Asked for before the call touches anything: a clock of
// the user's may raise, or do anything to the backend. Without a time to live all is kNoTime.
struct Moment {
  int64_t stamp = kNoTime;    // of what is written
  int64_t horizon = kNoTime;  // what is stamped with this time or an earlier one has expired
  bool event_time = false;    // stamps are rows' times, and a write lowers none

  bool Expired(std::string_view stored) const {
    return IsStamped(stored) && StampOf(stored) <= horizon;
  }
  // The stamp of what takes the place of `before`.
  int64_t StampOver(std::string_view before) const {
    return event_time ? std::max(stamp, StampOrNone(before)) : stamp;
  }
};

// One state's time to live, as its table and the compactions of its family share it.
class ExpiryRule {
 public:
  explicit ExpiryRule(std::shared_ptr<const StateClock> clock) : clock_(std::move(clock)) {}

  void Set(const TimeToLive& ttl);
  const TimeToLive& ttl() const { return ttl_; }

  // May run code of the user's.
  Moment Now() const;
  // In event time: the moment of a row of this time, kNoTime if it has none.
  Moment At(int64_t row_time) const;
  // What a read passes over: what is stamped with this time or an earlier one.
  int64_t HiddenAt(const Moment& now) const { return ttl_.return_expired ? kNoTime : now.horizon; }

  // For compactions, on any thread.
  bool ExpiredForGood(std::string_view stored) const;

 private:
  std::shared_ptr<const StateClock> clock_;
  TimeToLive ttl_;
  std::atomic<int64_t> shared_milliseconds_{0};
  std::atomic<TimeDomain> shared_domain_{TimeDomain::kProcessing};
};

// Drops what has expired when files are compacted.
std::shared_ptr<rocksdb::CompactionFilterFactory> NewExpiryFilter(
    std::shared_ptr<const ExpiryRule> rule);

}  // namespace flint
