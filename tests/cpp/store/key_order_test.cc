#include "store/key_order.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace flint {
namespace {

std::vector<uint32_t> Sorted(const std::vector<std::string>& keys) {
  std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<uint32_t> order;
  KeySorter().Sort(views, /*all=*/false, &order);
  return order;
}

std::vector<uint32_t> Expected(const std::vector<std::string>& keys) {
  std::map<std::string, uint32_t> last;
  for (uint32_t i = 0; i < keys.size(); ++i) last[keys[i]] = i;
  std::vector<uint32_t> order;
  for (const auto& [key, row] : last) order.push_back(row);
  return order;
}

TEST(KeySorter, OfEqualKeysTheLastRowWins) {
  EXPECT_EQ(Sorted({"b", "a", "b"}), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(Sorted({}), std::vector<uint32_t>());
  EXPECT_EQ(Sorted({""}), std::vector<uint32_t>{0});
}

TEST(KeySorter, AllRowsAreKeptInTheirOrderWhereAsked) {
  std::vector<std::string_view> views = {"b", "a", "b", "a"};
  std::vector<uint32_t> order;
  KeySorter().Sort(views, /*all=*/true, &order);
  EXPECT_EQ(order, (std::vector<uint32_t>{1, 3, 0, 2}));
}

TEST(KeySorter, AKeyComesBeforeThoseThatContinueItWithZeros) {
  std::string zero(1, '\0');
  EXPECT_EQ(Sorted({"a" + zero + zero, "a", "a" + zero}), (std::vector<uint32_t>{1, 2, 0}));
}

TEST(KeySorter, AgreesWithASortedMapForAnyKeys) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    size_t count = random() % (round % 3 == 0 ? 2000 : 20);
    size_t shared = random() % 12;
    size_t length = 1 + random() % 12;
    unsigned alphabet = round % 2 == 0 ? 256 : 2;
    std::vector<std::string> keys(count, std::string(shared, 'p'));
    for (std::string& key : keys) {
      for (size_t n = random() % (length + 1); n > 0; --n) {
        key.push_back(static_cast<char>(random() % alphabet));
      }
    }
    ASSERT_EQ(Sorted(keys), Expected(keys)) << "round " << round;
  }
}

}  // namespace
}  // namespace flint
