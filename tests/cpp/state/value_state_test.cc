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
