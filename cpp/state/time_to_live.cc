#include "state/time_to_live.h"

#include <chrono>

namespace flint {
namespace {

int64_t SystemMilliseconds() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

int64_t HorizonOf(int64_t now, int64_t milliseconds) {
  return now < kNoTime + milliseconds ? kNoTime : now - milliseconds;
}

class ExpiryFilter : public rocksdb::CompactionFilter {
 public:
  explicit ExpiryFilter(std::shared_ptr<const ExpiryRule> rule) : rule_(std::move(rule)) {}

  const char* Name() const override { return "flintstate.expiry"; }
  Decision FilterV2(int, const rocksdb::Slice&, ValueType type, const rocksdb::Slice& value,
                    std::string*, std::string*) const override {
    bool expired = type == ValueType::kValue && rule_->ExpiredForGood({value.data(), value.size()});
    return expired ? Decision::kRemove : Decision::kKeep;
  }

 private:
  std::shared_ptr<const ExpiryRule> rule_;
};

class ExpiryFilterFactory : public rocksdb::CompactionFilterFactory {
 public:
  explicit ExpiryFilterFactory(std::shared_ptr<const ExpiryRule> rule) : rule_(std::move(rule)) {}

  const char* Name() const override { return "flintstate.expiry"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context&) override {
    return std::make_unique<ExpiryFilter>(rule_);
  }

 private:
  std::shared_ptr<const ExpiryRule> rule_;
};

}  // namespace

StateClock::StateClock() : clock_(&SystemMilliseconds) {}

int64_t StateClock::AskProcessingTime() const {
  int64_t now = clock_();
  processing_.store(now, std::memory_order_relaxed);
  return now;
}

void StateClock::AdvanceWatermark(int64_t milliseconds) {
  watermark_ = std::max(watermark_.load(), milliseconds);
}

int64_t StateClock::LastSeen(TimeDomain domain) const {
  return domain == TimeDomain::kEvent ? watermark_.load() : processing_.load();
}

void ExpiryRule::Set(const TimeToLive& ttl) {
  ttl_ = ttl;
  shared_domain_ = ttl.domain;
  shared_milliseconds_ = ttl.milliseconds;
}

Moment ExpiryRule::Now() const {
  if (ttl_.domain == TimeDomain::kEvent) return At(clock_->row_time());
  int64_t now = clock_->AskProcessingTime();
  return {now, HorizonOf(now, ttl_.milliseconds), false};
}

Moment ExpiryRule::At(int64_t row_time) const {
  int64_t now = std::max(row_time, clock_->watermark());
  return {row_time, HorizonOf(now, ttl_.milliseconds), true};
}

bool ExpiryRule::ExpiredForGood(std::string_view stored) const {
  int64_t milliseconds = shared_milliseconds_;
  if (milliseconds == 0 || !IsStamped(stored)) return false;
  return StampOf(stored) <= HorizonOf(clock_->LastSeen(shared_domain_), milliseconds);
}

std::shared_ptr<rocksdb::CompactionFilterFactory> NewExpiryFilter(
    std::shared_ptr<const ExpiryRule> rule) {
  return std::make_shared<ExpiryFilterFactory>(std::move(rule));
}

}  // namespace flint
