#include "state/row_overlay.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace flint {
namespace {

struct ModelRow {
  std::string stored;
  bool present = true;
  bool dirty = false;
  bool in_store = true;
};
using OverlayModel = std::map<std::string, ModelRow, std::less<>>;

std::string Show(std::string_view suffix, std::string_view stored, RowFlags flags) {
  std::string text(suffix);
  return text.append("=").append(stored) + (flags.present ? "p" : "-") + (flags.dirty ? "d" : "-") +
         (flags.in_store ? "s " : "- ");
}

std::string Show(const RowOverlay& overlay) {
  std::string text;
  for (auto at = overlay.begin(); at != overlay.end(); at = overlay.Next(at)) {
    text += Show(overlay.suffix(at), overlay.stored(at), overlay.flags(at));
  }
  return text;
}

std::string Show(const OverlayModel& model) {
  std::string text;
  for (const auto& [suffix, row] : model) {
    text += Show(suffix, row.stored, {row.present, row.dirty, row.in_store});
  }
  return text;
}

// The shapes that keys have: numbers behind a marker, long common beginnings, keys that are
// beginnings of others, few and many.
std::string MakeSuffix(int shape, uint64_t number) {
  std::string bytes;
  for (int i = 7; i >= 0; --i) bytes.push_back(static_cast<char>(number >> (8 * i)));
  switch (shape) {
    case 0:
      return bytes + "sequence";
    case 1:
      return "\1" + bytes;
    case 2:
      return "a common beginning of many bytes " + std::to_string(number);
    case 3:
      return std::string(number % 40, '\0');
    default:
      return number % 50 == 0 ? "" : std::to_string(number % 500);
  }
}

class OverlayPrograms : public testing::TestWithParam<int> {
 protected:
  std::string Suffix() { return MakeSuffix(GetParam() % 5, random_() % 3000); }
  std::string Stored() { return std::string(random_() % 3 == 0 ? random_() % 900 : 10, 'x'); }

  void Put() {
    std::string suffix = Suffix();
    ModelRow row{Stored(), random_() % 8 != 0, random_() % 2 == 0, random_() % 2 == 0};
    auto at = overlay_.LowerBound(suffix);
    RowFlags flags{row.present, row.dirty, row.in_store};
    if (at != overlay_.end() && overlay_.suffix(at) == suffix)
      overlay_.Set(at, row.stored, flags);
    else
      overlay_.Insert(at, suffix, row.stored, flags);
    model_[suffix] = row;
  }
  void Erase() {
    std::string suffix = Suffix();
    auto at = overlay_.Find(suffix);
    ASSERT_EQ(at != overlay_.end(), model_.erase(suffix) > 0);
    if (at != overlay_.end()) overlay_.Erase(at);
  }
  void EraseRange() {
    std::string from = Suffix(), to = Suffix();
    if (to < from) std::swap(from, to);
    overlay_.Erase(overlay_.LowerBound(from), overlay_.LowerBound(to));
    model_.erase(model_.lower_bound(from), model_.lower_bound(to));
  }
  void Drain() {
    std::string drained, expected;
    overlay_.Drain([&](std::string_view suffix, std::string_view stored, RowFlags flags) {
      drained += Show(suffix, stored, flags);
    });
    for (auto& [suffix, row] : model_) {
      if (row.dirty) expected += Show(suffix, row.stored, {row.present, true, row.in_store});
    }
    ASSERT_EQ(drained, expected);
    // Rows of pages in which nothing was dirty stay as they were.
    model_.clear();
    for (auto at = overlay_.begin(); at != overlay_.end(); at = overlay_.Next(at)) {
      RowFlags flags = overlay_.flags(at);
      ASSERT_FALSE(flags.dirty);
      model_[std::string(overlay_.suffix(at))] = {std::string(overlay_.stored(at)), flags.present,
                                                  false, flags.in_store};
    }
  }
  void CheckOrderAndSize() {
    ASSERT_EQ(overlay_.size(), model_.size());
    ASSERT_EQ(Show(overlay_), Show(model_));
    if (overlay_.empty()) return;
    auto at = overlay_.end();
    for (auto row = model_.rbegin(); row != model_.rend(); ++row) {
      at = overlay_.Before(at);
      ASSERT_EQ(overlay_.suffix(at), row->first);
    }
    ASSERT_TRUE(at == overlay_.begin());
  }

  std::mt19937 random_{static_cast<unsigned>(GetParam())};
  RowOverlay overlay_;
  OverlayModel model_;
};

TEST_P(OverlayPrograms, AgreeWithAStdMap) {
  for (int step = 0; step < 6000 && !HasFatalFailure(); ++step) {
    unsigned choice = random_() % 1000;
    if (choice < 750)
      Put();
    else if (choice < 990)
      Erase();
    else if (choice < 996)
      EraseRange();
    else
      Drain();
    if (step % 200 == 0) CheckOrderAndSize();
  }
  CheckOrderAndSize();
}

TEST_P(OverlayPrograms, ACopyStaysAsItWas) {
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 300; ++i) Put();
    std::string before = Show(overlay_);
    RowOverlay copy = overlay_.Share(overlay_.begin(), overlay_.end());
    for (int i = 0; i < 100; ++i) {
      Put();
      Erase();
    }
    Drain();
    EraseRange();
    ASSERT_EQ(Show(copy), before);
    CheckOrderAndSize();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OverlayPrograms, testing::Range(0, 10));

TEST(RowOverlay, RowsInOrderFillTheirPages) {
  RowOverlay overlay;
  for (uint64_t i = 0; i < 10'000; ++i) overlay.Append(MakeSuffix(0, i), "0123456789", {});
  // 26 bytes and a slot of 24 a row; what is more is what vectors keep in reserve.
  EXPECT_LT(overlay.memory(), 10'000u * 26 * 4);
  overlay.Clear();
  EXPECT_EQ(overlay.memory(), 0u);
}

TEST(RowOverlay, WhatIsOverwrittenOrErasedGivesItsMemoryBack) {
  RowOverlay overlay;
  const std::string large(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    auto at = overlay.LowerBound("k");
    if (overlay.empty()) overlay.Insert(at, "k", large, {});
    overlay.Set(overlay.Find("k"), large.substr(0, static_cast<size_t>(1000 * (i + 1))), {});
  }
  EXPECT_LT(overlay.memory(), 4 * large.size());
  overlay.Erase(overlay.begin());
  EXPECT_TRUE(overlay.empty());
  EXPECT_EQ(overlay.memory(), 0u);
}

TEST(RowOverlay, LargeRowsDoNotShareAPage) {
  RowOverlay overlay;
  const std::string large(1u << 20, 'x');
  for (uint64_t i : {5, 1, 3, 2, 4, 0}) {
    std::string suffix = MakeSuffix(0, i);
    overlay.Insert(overlay.LowerBound(suffix), suffix, large, {});
  }
  RowOverlay one = overlay.Share(overlay.begin(), overlay.Next(overlay.begin()));
  EXPECT_LT(one.memory(), 3 * large.size());
  EXPECT_EQ(overlay.size(), 6u);
}

}  // namespace
}  // namespace flint
