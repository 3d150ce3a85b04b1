#include "state/time_to_live.h"

#include <algorithm>
#include <chrono>

namespace flint {
namespace {

int64_t SystemMilliseconds() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
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

void StateClock::AdvanceWatermark(int64_t milliseconds) {
  watermark_ = std::max(watermark_.load(), milliseconds);
}

int64_t StateClock::Now(TimeDomain domain) const {
  if (domain == TimeDomain::kEvent) return watermark_.load(std::memory_order_relaxed);
  int64_t now = clock_();
  processing_.store(now, std::memory_order_relaxed);
  return now;
}

int64_t StateClock::LastSeen(TimeDomain domain) const {
  return domain == TimeDomain::kEvent ? watermark_.load() : processing_.load();
}

void ExpiryRule::Set(const TimeToLive& ttl) {
  ttl_ = ttl;
  shared_domain_ = ttl.domain;
  shared_milliseconds_ = ttl.milliseconds;
}

bool ExpiryRule::ExpiredForGood(std::string_view stored) const {
  int64_t milliseconds = shared_milliseconds_;
  if (milliseconds == 0 || !IsStamped(stored)) return false;
  int64_t now = clock_->LastSeen(shared_domain_);
  return now >= milliseconds && StampOf(stored) <= now - milliseconds;
}

std::shared_ptr<rocksdb::CompactionFilterFactory> NewExpiryFilter(
    std::shared_ptr<const ExpiryRule> rule) {
  return std::make_shared<ExpiryFilterFactory>(std::move(rule));
}

}  // namespace flint
