#include "scan/range_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace flint {
namespace {

// Keys that are there, each worth 1.
class Keys {
 public:
  explicit Keys(std::vector<std::string> keys) : keys_(std::move(keys)) {
    std::sort(keys_.begin(), keys_.end());
  }
  uint64_t Count(std::string_view lower, std::string_view upper) const {
    auto at = [&](std::string_view key) {
      return std::lower_bound(keys_.begin(), keys_.end(), key);
    };
    return static_cast<uint64_t>(std::max<ptrdiff_t>(0, at(upper) - at(lower)));
  }
  // Cuts all of it into parts of about `wanted`; says how many there were of each size.
  std::vector<uint64_t> Cut(uint64_t wanted, bool from_end) {
    std::string lower = keys_.front(), upper = keys_.back() + '\0';
    std::vector<uint64_t> sizes;
    auto size = [this](auto a, auto b) {
      ++asked_;
      return Count(a, b);
    };
    while (auto at = SplitRange(lower, upper, wanted, from_end, size)) {
      EXPECT_LT(lower, *at);
      EXPECT_LT(*at, upper);
      sizes.push_back(from_end ? Count(*at, upper) : Count(lower, *at));
      (from_end ? upper : lower) = *at;
    }
    sizes.push_back(Count(lower, upper));
    return sizes;
  }
  size_t size() const { return keys_.size(); }
  uint64_t asked() const { return asked_; }

 private:
  std::vector<std::string> keys_;
  uint64_t asked_ = 0;
};

void ExpectEvenParts(Keys keys, uint64_t asked_a_part) {
  for (bool from_end : {false, true}) {
    const uint64_t before = keys.asked();
    const std::vector<uint64_t> sizes = keys.Cut(1000, from_end);
    uint64_t sum = 0;
    for (uint64_t size : sizes) {
      EXPECT_LT(size, 1500u);
      sum += size;
    }
    for (size_t i = 0; i + 1 < sizes.size(); ++i) EXPECT_GE(sizes[i], 750u);
    EXPECT_EQ(sum, keys.size());
    EXPECT_LE((keys.asked() - before) / sizes.size(), asked_a_part);
  }
}

std::string BigEndian(uint64_t number) {
  number = __builtin_bswap64(number);
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

TEST(ARangeIsSplit, EvenlyWhereKeysAreRandomNumbers) {
  std::mt19937_64 random(1);
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back(BigEndian(random()));
  ExpectEvenParts(Keys(keys), 4);
}

TEST(ARangeIsSplit, EvenlyWhereKeysCountUp) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 20'000; ++i) keys.push_back(BigEndian(5'000'000 + i));
  ExpectEvenParts(Keys(keys), 4);
}

TEST(ARangeIsSplit, EvenlyWhereKeysAreText) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back("customer/" + std::to_string(i * 37) + "/order");
  ExpectEvenParts(Keys(keys), 20);
}

TEST(ARangeIsSplit, EvenlyWhereMostKeysAreNearOneEnd) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> near(1);
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) {
    keys.push_back(BigEndian(static_cast<uint64_t>(std::exp2(50 - 3 * near(random)) + i)));
  }
  ExpectEvenParts(Keys(keys), 30);
}

TEST(ARangeIsSplit, BesideAPlaceWhereMoreIsStoredThanWasWanted) {
  const auto size = [](std::string_view lower, std::string_view upper) -> uint64_t {
    return lower <= "m" && upper > "m" ? 100'000 : 0;
  };
  for (bool from_end : {false, true}) {
    auto at = SplitRange("a", "z", 1000, from_end, size);
    ASSERT_TRUE(at);
    EXPECT_TRUE(from_end ? *at <= "m" : *at > "m");
  }
}

TEST(ARangeIsSplit, NotWhereLittleIsStoredOrNoKeyIsBetween) {
  const auto much = [](auto, auto) -> uint64_t { return 10'000; };
  EXPECT_FALSE(SplitRange("a", "b", 7'000, false, much));
  EXPECT_FALSE(SplitRange("a", std::string("a\0", 2), 1'000, false, much));
  EXPECT_FALSE(SplitRange("", "", 1'000, false, [](auto, auto) -> uint64_t { return 0; }));
  EXPECT_FALSE(SplitRange("a", "b", 0, false, much));
}

}  // namespace
}  // namespace flint
