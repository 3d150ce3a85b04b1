#include <random>

#include "state/backend_fixture.h"

namespace flint {
namespace {

TEST_F(BackendTest, AValueIsReadAsItWasWrittenUnderItsKeyAlone) {
  Open();
  PointTable* count = OpenValue("count");
  EXPECT_EQ(Get(count, "ada"), "none");
  Put(count, "ada", "1");
  EXPECT_EQ(Get(count, "ada"), "1");
  EXPECT_EQ(Get(count, "ad"), "none");
  EXPECT_EQ(Get(count, ""), "none");
  Clear(count, "ada");
  EXPECT_EQ(Get(count, "ada"), "none");
}

TEST_F(BackendTest, ValuesAreThereAfterClosingAndOpening) {
  Open();
  Put(OpenValue("count"), "ada", "1");
  Put(OpenValue("name"), "ada", "x");
  ASSERT_TRUE(backend_->Close().ok());
  Open();
  EXPECT_EQ(Get(OpenValue("name"), "ada"), "x");
  EXPECT_EQ(Get(OpenValue("count"), "ada"), "1");
}

TEST_F(BackendTest, NamespacesDoNotSeeEachOther) {
  Open();
  PointTable* count = OpenValue("count");
  count->SetSpace("one");
  Put(count, "ada", "1");
  count->SetSpace("two");
  EXPECT_EQ(Get(count, "ada"), "none");
  count->SetSpace("one");
  EXPECT_EQ(Get(count, "ada"), "1");
}

TEST_F(BackendTest, ReadsAreExactWhateverHasLeftTheCache) {
  options_.cache_bytes = 20'000;
  Open();
  PointTable* state = OpenValue("count");
  std::map<std::string, std::string> model;
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string key = "key " + std::to_string(random() % 1000);
    switch (random() % 4) {
      case 0: {
        std::string row = "row " + std::to_string(i);
        Put(state, key, row);
        model[key] = row;
        break;
      }
      case 1:
        Clear(state, key);
        model.erase(key);
        break;
      default:
        ASSERT_EQ(Get(state, key), model.contains(key) ? model[key] : "none");
    }
  }
  EXPECT_GT(state->metrics().store_reads, 0u);
  EXPECT_GT(state->metrics().cache_hits, 0u);
}

TEST_F(BackendTest, PrefetchAnswersLaterReadsFromTheCache) {
  Open();
  PointTable* count = OpenValue("count");
  for (int i = 0; i < 3000; ++i) Put(count, std::to_string(i), "row " + std::to_string(i));
  ASSERT_TRUE(backend_->Spill().ok());
  std::vector<std::string> encoded;
  std::vector<StateKey> keys;
  for (int i = 2000; i < 4000; ++i) encoded.push_back(Encoded(std::to_string(i)));
  for (const std::string& bytes : encoded) keys.push_back(*backend_->Locate(bytes));
  ASSERT_TRUE(count->Prefetch(keys).ok());
  uint64_t before = count->metrics().store_reads;
  for (int i = 2000; i < 4000; ++i) {
    ASSERT_EQ(Get(count, std::to_string(i)), i < 3000 ? "row " + std::to_string(i) : "none");
  }
  EXPECT_EQ(count->metrics().store_reads, before);
}

// What a call finds too much is written out and forgotten before it adds its own.
TEST_F(BackendTest, TheCacheStaysWithinItsBytesInReadsAndWrites) {
  options_.cache_bytes = 50'000;
  Open();
  PointTable* state = OpenValue("count");
  constexpr size_t kRowBytes = 1000, kOneEntry = kRowBytes + 200;
  for (int i = 0; i < 300; ++i) {
    Put(state, std::to_string(i), std::string(kRowBytes, 'x'));
    ASSERT_LE(backend_->context().cached_bytes, options_.cache_bytes + kOneEntry);
  }
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(Get(state, std::to_string(i)).size(), kRowBytes);
    ASSERT_LE(backend_->context().cached_bytes, options_.cache_bytes + kOneEntry);
  }
}

// The keys "0" to "9" have the rows "row 0" to "row 9", in the store and no longer in the cache;
// they are prefetched in their order.
class PrefetchTest : public BackendTest {
 protected:
  void SetUp() override {
    Open();
    count_ = OpenValue("count");
    for (int i = 0; i < 10; ++i) Put(count_, std::to_string(i), "row " + std::to_string(i));
    ASSERT_TRUE(backend_->Spill().ok());
    for (int i = 0; i < 10; ++i) encoded_.push_back(Encoded(std::to_string(i)));
    for (const std::string& bytes : encoded_) keys_.push_back(*backend_->Locate(bytes));
    ASSERT_TRUE(count_->Prefetch(keys_).ok());
  }
  // Goes to the key and says that it is the i-th of those that were prefetched.
  std::string Expected(size_t i) {
    backend_->SetKey(keys_[i]);
    count_->ExpectPrefetched(i);
    std::string_view row;
    auto found = count_->Read(&row);
    return found.ok() && *found ? std::string(row) : "none";
  }

  PointTable* count_ = nullptr;
  std::vector<std::string> encoded_;
  std::vector<StateKey> keys_;
};

TEST_F(PrefetchTest, AnExpectedKeyIsReadAndWrittenWhereItIs) {
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(Expected(i), "row " + std::to_string(i));
    ASSERT_TRUE(count_->Write("new " + std::to_string(i)).ok());
  }
  EXPECT_EQ(count_->metrics().store_reads, 10u);
  ASSERT_TRUE(backend_->Spill().ok());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Get(count_, std::to_string(i)), "new " + std::to_string(i));
  }
}

TEST_F(PrefetchTest, AnExpectationEndsWithItsKey) {
  EXPECT_EQ(Expected(3), "row 3");
  EXPECT_EQ(Get(count_, "4"), "row 4");
  EXPECT_EQ(Get(count_, "never seen"), "none");
}

TEST_F(PrefetchTest, WhatIsExpectedBeyondTheKeysIsLookedFor) {
  backend_->SetKey(keys_[2]);
  count_->ExpectPrefetched(10);
  std::string_view row;
  ASSERT_TRUE(*count_->Read(&row));
  EXPECT_EQ(row, "row 2");
}

TEST_F(PrefetchTest, InAnotherNamespaceAnExpectationIsVoid) {
  count_->SetSpace("other");
  EXPECT_EQ(Expected(3), "none");
  count_->SetSpace("");
  EXPECT_EQ(Expected(3), "row 3");
}

TEST_F(PrefetchTest, OnceTheCacheWasWrittenOutAnExpectationIsVoid) {
  ASSERT_TRUE(backend_->Spill().ok());
  EXPECT_EQ(Expected(3), "row 3");
  EXPECT_EQ(count_->metrics().store_reads, 11u);
}

TEST_F(BackendTest, AStateOpenedAsAnotherKindOrTypeIsRefusedWithBothNamed) {
  Open();
  OpenValue("count");
  for (auto wanted : {Describe("count", StateKind::kList),
                      Describe("count", StateKind::kValue, TypeId::kString)}) {
    auto refused = backend_->OpenState(wanted, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().kind(), ErrorKind::kInvalid);
    EXPECT_NE(refused.status().message().find("value state 'count' of int64"), std::string::npos);
    EXPECT_NE(refused.status().message().find(wanted.ToString()), std::string::npos);
  }
  EXPECT_NE(OpenValue("count"), nullptr);
}

TEST_F(BackendTest, WithoutACurrentKeyNothingIsReadOrWritten) {
  Open();
  PointTable* count = OpenValue("count");
  std::string_view row;
  EXPECT_EQ(count->Read(&row).status().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(count->Write("1").kind(), ErrorKind::kInvalid);
}

TEST_F(BackendTest, BetweenTwoUsersThereIsNoKeyAndRoomInTheCache) {
  options_.cache_bytes = 20'000;
  options_.changelog = true;
  Open();
  PointTable* state = OpenValue("count");
  Put(state, "ada", std::string(1000, 'x'));
  ASSERT_TRUE(Commit(1));
  ASSERT_TRUE(backend_->Rest().ok());
  std::string_view row;
  EXPECT_EQ(state->Read(&row).status().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(Get(state, "ada"), std::string(1000, 'x'));
  EXPECT_EQ(state->metrics().store_reads, 0u);

  for (int i = 0; i < 12; ++i) Put(state, std::to_string(i), std::string(1000, 'y'));
  ASSERT_TRUE(Commit(2));
  ASSERT_TRUE(backend_->Rest().ok());
  EXPECT_EQ(backend_->context().cached_bytes, 0u);
  EXPECT_EQ(Get(state, "ada"), std::string(1000, 'x'));
  EXPECT_EQ(backend_->commit_point().version, Version(2));
  EXPECT_FALSE(backend_->commit_point().between);
}

TEST_F(BackendTest, AfterCloseEveryCallIsAnsweredWithClosed) {
  Open();
  PointTable* count = OpenValue("count");
  Put(count, "ada", "1");
  ASSERT_TRUE(backend_->Close().ok());
  ASSERT_TRUE(backend_->Close().ok());
  std::string_view row;
  EXPECT_EQ(count->Read(&row).status().kind(), ErrorKind::kClosed);
  EXPECT_EQ(count->Write("1").kind(), ErrorKind::kClosed);
  EXPECT_EQ(backend_->Commit({}).status().kind(), ErrorKind::kClosed);
}

TEST_F(BackendTest, AKeyOfAForeignKeyGroupIsRefusedAndTheFormerOneStays) {
  options_.first_group = 3;
  options_.last_group = 90;
  Open();
  PointTable* count = OpenValue("count");
  std::string ours, foreign;
  for (int i = 0; ours.empty() || foreign.empty(); ++i) {
    std::string key = std::to_string(i);
    (backend_->Locate(Encoded(key)).ok() ? ours : foreign) = key;
  }
  Put(count, ours, "1");
  Status refused = backend_->SetKey(Encoded(foreign));
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalid);
  std::string_view row;
  EXPECT_TRUE(*count->Read(&row));
}

TEST_F(BackendTest, ADirectoryOfOtherKeysOrGroupsIsRefusedWithBothNamed) {
  Open();
  ASSERT_TRUE(backend_->Close().ok());
  auto other = Backend::Open(Path("live"), OneColumn("key", TypeId::kInt64), options_);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("string"), std::string::npos);
  EXPECT_NE(other.status().message().find("int64"), std::string::npos);
  options_.last_group = 63;
  EXPECT_EQ(TryOpen().status().kind(), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace flint
