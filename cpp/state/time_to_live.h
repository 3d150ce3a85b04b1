#pragma once

#include <rocksdb/compaction_filter.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
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
  bool return_expired = false;  // until they are cleaned up

  bool enabled() const { return milliseconds > 0; }
  bool operator==(const TimeToLive&) const = default;
};

// The two times of a backend, in milliseconds since 1970. Threads that compact read what was last
// seen, so that a clock of the user's is asked on the user's thread alone.
class StateClock {
 public:
  StateClock();  // processing time is the system's

  void SetProcessingClock(std::function<int64_t()> clock) { clock_ = std::move(clock); }
  // Event time: the watermark, which never goes back.
  void AdvanceWatermark(int64_t milliseconds);

  int64_t Now(TimeDomain domain) const;
  int64_t LastSeen(TimeDomain domain) const;

 private:
  std::function<int64_t()> clock_;
  mutable std::atomic<int64_t> processing_{0};
  std::atomic<int64_t> watermark_{std::numeric_limits<int64_t>::min()};
};

// One state's time to live, as its table and the compactions of its family share it.
class ExpiryRule {
 public:
  explicit ExpiryRule(std::shared_ptr<const StateClock> clock) : clock_(std::move(clock)) {}

  void Set(const TimeToLive& ttl);
  const TimeToLive& ttl() const { return ttl_; }

  // Appends `row` as it is to be stored now: stamped if values expire.
  void Append(std::string_view row, std::string* stored) const {
    int64_t now = ttl_.enabled() ? clock_->Now(ttl_.domain) : kNoHorizon;
    if (now == kNoHorizon) return AppendPlain(row, stored);  // before the first watermark, too
    AppendStamped(now, row, stored);
  }
  // What is stamped with this time or an earlier one is hidden from a read that begins now.
  int64_t Horizon() const {
    if (!ttl_.enabled() || ttl_.return_expired) return kNoHorizon;
    int64_t now = clock_->Now(ttl_.domain);
    return now < kNoHorizon + ttl_.milliseconds ? kNoHorizon : now - ttl_.milliseconds;
  }
  static constexpr int64_t kNoHorizon = std::numeric_limits<int64_t>::min();
  // Whether a read may see it.
  bool Visible(std::string_view stored) const {
    return !ttl_.enabled() || ttl_.return_expired || !Expired(stored, clock_->Now(ttl_.domain));
  }
  // Whether a read gives it a new life; what has expired is not brought back.
  bool NeedsRefresh(std::string_view stored) const {
    return ttl_.refresh_on_read && ttl_.enabled() && !Expired(stored, clock_->Now(ttl_.domain));
  }

  // For compactions, on any thread.
  bool ExpiredForGood(std::string_view stored) const;

 private:
  bool Expired(std::string_view stored, int64_t now) const {
    return IsStamped(stored) && now >= ttl_.milliseconds &&
           StampOf(stored) <= now - ttl_.milliseconds;
  }

  std::shared_ptr<const StateClock> clock_;
  TimeToLive ttl_;
  std::atomic<int64_t> shared_milliseconds_{0};
  std::atomic<TimeDomain> shared_domain_{TimeDomain::kProcessing};
};

// Drops what has expired when files are compacted.
std::shared_ptr<rocksdb::CompactionFilterFactory> NewExpiryFilter(
    std::shared_ptr<const ExpiryRule> rule);

}  // namespace flint
