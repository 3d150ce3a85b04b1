#include <random>

#include "state/backend_fixture.h"
#include "state/ordered_table.h"
#include "state/stored_value.h"

namespace flint {
namespace {

class OrderedTest : public BackendTest {
 protected:
  OrderedTable* OpenOrdered(const std::string& name, StateKind kind = StateKind::kMap,
                            const TimeToLive& ttl = {}) {
    auto table = backend_->OpenState(Describe(name, kind, TypeId::kBinary), ttl);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? dynamic_cast<OrderedTable*>(*table) : nullptr;
  }
  OrderedScope* Scope(OrderedTable* table, const std::string& key) {
    SetKey(key);
    auto scope = table->Current();
    EXPECT_TRUE(scope.ok()) << scope.status().message();
    return scope.ok() ? *scope : nullptr;
  }
  Moment Now(OrderedTable* table) {
    auto now = table->BeginMany();
    EXPECT_TRUE(now.ok()) << now.status().message();
    return now.ok() ? *now : Moment();
  }
  // "a=1 b=2": the rows of a range.
  static std::string Show(const RowBlock& rows) {
    std::string text;
    for (size_t i = 0; i < rows.size(); ++i) {
      text += text.empty() ? "" : " ";
      text.append(rows.suffix(i)).append("=").append(RowOf(rows.stored(i)));
    }
    return text;
  }
  std::string Read(OrderedTable* table, const std::string& key, const SuffixRange& range = {},
                   size_t limit = 1000) {
    RowBlock rows;
    bool more = false;
    Status status = table->Peek(Scope(table, key), range, limit, Now(table).horizon, &rows, &more);
    return status.ok() ? Show(rows) : "error: " + status.message();
  }
  std::string Scan(OrderedScan* scan) {
    RowBlock rows;
    std::string_view suffix, stored;
    while (true) {
      auto more = scan->Next(&suffix, &stored);
      EXPECT_TRUE(more.ok()) << more.status().message();
      if (!more.ok() || !*more) return Show(rows);
      rows.Append(suffix, stored);
    }
  }
};

using Model = std::map<std::string, std::string>;

std::string Show(const Model& model, const SuffixRange& range) {
  std::string text;
  auto add = [&](const Model::value_type& row) {
    if (!range.Holds(row.first)) return;
    text += (text.empty() ? "" : " ") + row.first + "=" + row.second;
  };
  if (range.reverse)
    std::for_each(model.rbegin(), model.rend(), add);
  else
    std::for_each(model.begin(), model.end(), add);
  return text;
}

// All operations on a few scopes against a std::map, with spills and reopenings in between.
class RandomPrograms : public OrderedTest, public testing::WithParamInterface<int> {
 protected:
  std::string Suffix() { return std::to_string(random_() % suffixes_); }
  SuffixRange Range() {
    SuffixRange range;
    if (random_() % 3 != 0) range.from = Suffix();
    if (random_() % 3 != 0) range.to = Suffix();
    range.reverse = random_() % 2 == 0;
    return range;
  }

  void Put(OrderedScope* scope, Model* model) {
    std::string suffix = Suffix(), row = std::to_string(random_());
    ASSERT_TRUE(table_->Put(scope, suffix, row, {}).ok());
    (*model)[suffix] = row;
  }
  void Remove(OrderedScope* scope, Model* model) {
    std::string suffix = Suffix();
    ASSERT_TRUE(table_->Remove(scope, suffix).ok());
    model->erase(suffix);
  }
  void Get(OrderedScope* scope, Model* model) {
    std::string suffix = Suffix();
    std::string_view row;
    auto found = table_->Get(scope, suffix, {}, &row);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(*found ? std::string(row) : "none",
              model->contains(suffix) ? (*model)[suffix] : "none");
  }
  void Clear(OrderedScope* scope, Model* model) {
    SuffixRange range = Range();
    ASSERT_TRUE(table_->Clear(scope, range).ok());
    std::erase_if(*model, [&](const auto& row) { return range.Holds(row.first); });
  }
  void ScanWhileAllIsCleared(OrderedScope* scope, Model* model) {
    SuffixRange range = Range();
    auto scan = table_->Scan(scope, range, kNoTime);
    ASSERT_TRUE(scan.ok());
    std::string expected = flint::Show(*model, range);
    ASSERT_TRUE(table_->Put(scope, Suffix(), "later", {}).ok());
    ASSERT_TRUE(table_->Clear(scope, Range()).ok() && table_->Clear(scope).ok());
    model->clear();
    ASSERT_EQ(Scan(scan->get()), expected);
  }
  void SpillOrReopen() {
    if (random_() % 5 == 0) {
      ASSERT_TRUE(backend_->Spill().ok());
    } else if (random_() % 20 == 0) {
      ASSERT_TRUE(backend_->Close().ok());
      Open();
      table_ = OpenOrdered("map");
    }
  }
  void Step() {
    std::string key(1, static_cast<char>('a' + random_() % 3));
    OrderedScope* scope = Scope(table_, key);
    Model* model = &models_[key];
    unsigned choice = random_() % 48;
    if (choice < 16) return Put(scope, model);
    if (choice < 20) return Remove(scope, model);
    if (choice < 28) return Get(scope, model);
    if (choice < 29) return Clear(scope, model);
    if (choice < 33) return ScanWhileAllIsCleared(scope, model);
    if (choice < 37) return SpillOrReopen();
    SuffixRange range = Range();
    ASSERT_EQ(Read(table_, key, range), flint::Show(*model, range));
  }

  std::mt19937 random_;
  unsigned suffixes_ = 10;
  OrderedTable* table_ = nullptr;
  std::map<std::string, Model> models_;
};

TEST_P(RandomPrograms, AgreeWithAPlainMap) {
  random_.seed(static_cast<unsigned>(GetParam()));
  suffixes_ = GetParam() % 2 == 0 ? 8 : 300;
  options_.cache_bytes = GetParam() % 3 == 0 ? 4000 : 1u << 20;
  Open();
  table_ = OpenOrdered("map");
  for (int step = 0; step < 3000 && !HasFatalFailure(); ++step) Step();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 12));

TEST_F(OrderedTest, AppendsKeepTheirOrderAcrossSpillsAndReopening) {
  Open();
  OrderedTable* list = OpenOrdered("list", StateKind::kList);
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(list->Append(Scope(list, "a"), {}, std::to_string(i), {}).ok());
    expected.push_back(std::to_string(i));
    if (i % 70 == 0) {
      ASSERT_TRUE(backend_->Spill().ok());
    }
    if (i % 110 == 0) {
      ASSERT_TRUE(backend_->Close().ok());
      Open();
      list = OpenOrdered("list", StateKind::kList);
    }
  }
  RowBlock rows;
  bool more = false;
  ASSERT_TRUE(list->Peek(Scope(list, "a"), {}, 1000, kNoTime, &rows, &more).ok());
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(RowOf(rows.stored(i)), expected[i]);
}

TEST_F(OrderedTest, AnAppendReadsNothing) {
  Open();
  OrderedTable* list = OpenOrdered("list", StateKind::kList);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(list->Append(Scope(list, "a"), {}, "x", {}).ok());
    ASSERT_TRUE(backend_->Spill().ok());
  }
  EXPECT_EQ(list->metrics().store_reads, 0u);
}

TEST_F(OrderedTest, WhatIsAddedAndClearedBetweenTwoCommitsIsNotLogged) {
  options_.changelog = true;
  Open();
  OrderedTable* list = OpenOrdered("list", StateKind::kList);
  ASSERT_TRUE(list->Append(Scope(list, "a"), {}, "x", {}).ok());
  ASSERT_TRUE(list->Append(Scope(list, "b"), {}, "y", {}).ok());
  ASSERT_TRUE(Commit(1));
  ASSERT_TRUE(list->Clear(Scope(list, "c")).ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(list->Append(Scope(list, "c"), {}, "x", {}).ok());
  ASSERT_TRUE(list->Clear(Scope(list, "c")).ok());
  ASSERT_TRUE(list->Append(Scope(list, "b"), {}, "z", {}).ok());
  ASSERT_TRUE(Commit(2));
  EXPECT_EQ(segments_[2].records.size(), 2u);  // one element, and the next element's number
}

TEST_F(OrderedTest, AReplayedListGoesOnBehindItsLastElement) {
  options_.changelog = true;
  Open();
  OrderedTable* list = OpenOrdered("list", StateKind::kList);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(list->Append(Scope(list, "a"), {}, BytesRow(std::to_string(i)), {}).ok());
  Commit(1);
  for (int i = 5; i < 50; ++i)
    ASSERT_TRUE(list->Append(Scope(list, "a"), {}, BytesRow(std::to_string(i)), {}).ok());
  Commit(2);
  ASSERT_TRUE(list->Clear(Scope(list, "b")).ok());
  ASSERT_TRUE(list->Clear(Scope(list, "a")).ok());
  for (int i = 50; i < 53; ++i)
    ASSERT_TRUE(list->Append(Scope(list, "a"), {}, BytesRow(std::to_string(i)), {}).ok());
  Commit(3);
  Open("copy");
  for (uint8_t number : {1, 2, 3}) ASSERT_TRUE(Replay(number).ok());
  list = OpenOrdered("list", StateKind::kList);
  ASSERT_TRUE(list->Append(Scope(list, "a"), {}, BytesRow("53"), {}).ok());
  RowBlock rows;
  bool more = false;
  ASSERT_TRUE(list->Peek(Scope(list, "a"), {}, 1000, kNoTime, &rows, &more).ok());
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) text.append(RowOf(rows.stored(i)).substr(1)).append(" ");
  EXPECT_EQ(text, "50 51 52 53 ");
}

TEST_F(OrderedTest, ALiveScanEndsWithClosedWhenTheBackendCloses) {
  Open();
  OrderedTable* list = OpenOrdered("list", StateKind::kList);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(list->Append(Scope(list, "a"), {}, "x", {}).ok());
  ASSERT_TRUE(backend_->Spill().ok());
  auto scan = list->Scan(Scope(list, "a"), {}, kNoTime);
  ASSERT_TRUE(scan.ok());
  std::string_view suffix, stored;
  ASSERT_TRUE(*(*scan)->Next(&suffix, &stored));
  ASSERT_TRUE(backend_->Close().ok());
  EXPECT_EQ((*scan)->Next(&suffix, &stored).status().kind(), ErrorKind::kClosed);
}

TEST_F(OrderedTest, AScanThatIsDroppedHalfwayLeavesItsCursorToTheNext) {
  Open();
  OrderedTable* list = OpenOrdered("list", StateKind::kList);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(list->Append(Scope(list, "a"), {}, "x", {}).ok());
  ASSERT_TRUE(backend_->Spill().ok());
  std::string_view suffix, stored;
  for (int round = 0; round < 3; ++round) {
    auto scan = list->Scan(Scope(list, "a"), {}, kNoTime);
    ASSERT_TRUE(scan.ok());
    ASSERT_TRUE(*(*scan)->Next(&suffix, &stored));
    // What the next scan is to see is in the cache, or a drain has made the cursor void.
    ASSERT_TRUE(list->Append(Scope(list, "a"), {}, "y", {}).ok());
    if (round == 1) {
      ASSERT_TRUE(backend_->Spill().ok());
    }
    size_t left = 1;
    while (*(*scan)->Next(&suffix, &stored)) ++left;
    EXPECT_EQ(left, 500u + static_cast<size_t>(round));
  }
}

TEST_F(OrderedTest, ReadAlikeGivesAllRowsBesideTheFirstOfARangeFromEitherSide) {
  Open();
  OrderedTable* map = OpenOrdered("map");
  for (const char* suffix : {"a1", "a2", "b1", "b2", "b3", "c1"}) {
    ASSERT_TRUE(map->Put(Scope(map, "k"), suffix, "x", {}).ok());
  }
  auto alike = [&](const SuffixRange& range) {
    RowBlock rows;
    EXPECT_TRUE(map->ReadAlike(Scope(map, "k"), range, 1, {}, &rows).ok());
    return Show(rows);
  };
  EXPECT_EQ(alike({"a2", std::nullopt, false}), "a2=x");
  EXPECT_EQ(alike({"b", std::nullopt, false}), "b1=x b2=x b3=x");
  EXPECT_EQ(alike({"", "c", true}), "b1=x b2=x b3=x");
  EXPECT_EQ(alike({"d", std::nullopt, false}), "");
}

TEST_F(OrderedTest, ExpiredRowsAreHiddenThenCompactedAway) {
  Open();
  int64_t now = 1000;
  backend_->context().clock->SetProcessingClock([&] { return now; });
  OrderedTable* map = OpenOrdered("map", StateKind::kMap, TimeToLive{100});
  ASSERT_TRUE(map->Put(Scope(map, "a"), "k", "old", Now(map)).ok());
  now = 1050;
  ASSERT_TRUE(map->Put(Scope(map, "a"), "l", "new", Now(map)).ok());
  EXPECT_EQ(Read(map, "a"), "k=old l=new");
  now = 1100;
  EXPECT_EQ(Read(map, "a"), "l=new");
  ASSERT_TRUE(backend_->Spill().ok());
  EXPECT_EQ(Read(map, "a"), "l=new");
  ASSERT_TRUE(backend_->context().database->Flush().ok());
  ASSERT_TRUE(backend_->context().database->Compact(map->entry().family).ok());
  map->expiry().Set({});
  map->Forget();
  EXPECT_EQ(Read(map, "a"), "l=new");
}

TEST_F(OrderedTest, WhatExpiredForOneRowStaysUntilTheWatermarkSaysThatItIsGone) {
  Open();
  StateClock& clock = *backend_->context().clock;
  OrderedTable* map = OpenOrdered("map", StateKind::kMap, TimeToLive{100, TimeDomain::kEvent});
  auto compact = [&] {
    ASSERT_TRUE(backend_->Spill().ok());
    ASSERT_TRUE(backend_->context().database->Flush().ok());
    ASSERT_TRUE(backend_->context().database->Compact(map->entry().family).ok());
  };
  for (int64_t time : {-1000, -950}) {
    clock.SetRowTime(time);
    ASSERT_TRUE(map->Put(Scope(map, "a"), std::to_string(time), "x", Now(map)).ok());
  }
  clock.SetRowTime(-900);
  EXPECT_EQ(Read(map, "a"), "-950=x");
  compact();
  clock.SetRowTime(-901);
  EXPECT_EQ(Read(map, "a"), "-1000=x -950=x");
  clock.AdvanceWatermark(-900);
  compact();
  map->expiry().Set({});
  map->Forget();
  EXPECT_EQ(Read(map, "a"), "-950=x");
}

TEST_F(OrderedTest, WithoutARowsTimeNothingIsWrittenByEventTime) {
  Open();
  OrderedTable* map = OpenOrdered("map", StateKind::kMap, TimeToLive{100, TimeDomain::kEvent});
  OrderedScope* scope = Scope(map, "a");
  EXPECT_EQ(map->Put(scope, "k", "x", Now(map)).kind(), ErrorKind::kInvalid);
  EXPECT_EQ(map->Append(scope, "k", "x", Now(map)).kind(), ErrorKind::kInvalid);
  EXPECT_EQ(Read(map, "a"), "");
}

TEST(SuffixRanges, TouchingRangesBecomeOne) {
  SuffixRanges ranges;
  ranges.Add("b", "d");
  ranges.Add("f", "h");
  EXPECT_NE(ranges.Holding("b"), nullptr);
  EXPECT_EQ(ranges.Holding("d"), nullptr);
  EXPECT_EQ(ranges.Holding("a"), nullptr);
  ranges.Add("d", "f");
  EXPECT_EQ(ranges.all().size(), 1u);
  EXPECT_EQ(ranges.BeginHolding("e"), "b");
  ranges.Add("c", std::nullopt);
  EXPECT_EQ(ranges.all().size(), 1u);
  EXPECT_NE(ranges.Holding("zzz"), nullptr);
  ranges.Add("x", "a");
  EXPECT_EQ(ranges.all().size(), 1u);
}

}  // namespace
}  // namespace flint
