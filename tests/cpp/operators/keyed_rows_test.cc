#include "operators/keyed_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "key/columns.h"
#include "state/backend_fixture.h"

namespace flint {
namespace {

using Numbers = std::vector<int64_t>;

// Batches of a number and a key, on a backend over string keys.
class KeyedRowsTest : public BackendTest {
 protected:
  OwnedBatch BatchOf(const std::vector<std::string>& keys) {
    return MakeBatch(schema_, static_cast<int64_t>(keys.size()), [&](BatchBuilder& builder) {
      for (const std::string& key : keys) {
        builder.column(0).Append(int64_t{7});
        builder.column(1).AppendBytes(key);
      }
    });
  }
  Result<KeyedRows> Make(const OwnedBatch& batch, const std::string& column = "key") {
    return KeyedRows::Make(batch.view, OneColumn(column, TypeId::kString), *backend_);
  }
  static Numbers OrderOf(KeyedRows* rows) {
    OwnedArray array = rows->TakeOrder();
    ColumnView view = *ColumnView::Make(DataType(TypeId::kInt64), *array);
    return {view.Values<int64_t>(), view.Values<int64_t>() + view.size()};
  }

  // Keys come in the order of row keys, each row once, and those of a key in their order.
  void ExpectOrdered(const std::vector<std::string>& keys) {
    auto rows = Make(BatchOf(keys));
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    Numbers order = OrderOf(&*rows);
    ASSERT_EQ(order.size(), keys.size());
    EXPECT_EQ(rows->begin(0), 0);
    EXPECT_EQ(rows->end(rows->keys().size() - 1), static_cast<int64_t>(keys.size()));
    std::string before;
    for (size_t k = 0; k < rows->keys().size(); ++k) {
      const StateKey& key = rows->keys()[k];
      EXPECT_EQ(key.group, backend_->Locate(key.bytes)->group);
      std::string row_key;
      AppendGroup(key.group, 1, &row_key);
      row_key.append(key.bytes);
      ASSERT_LT(before, row_key);
      before = row_key;
      for (int64_t i = rows->begin(k); i < rows->end(k); ++i) {
        auto at = static_cast<size_t>(i);
        ASSERT_EQ(Encoded(keys[static_cast<size_t>(order[at])]), key.bytes);
        ASSERT_TRUE(i == rows->begin(k) || order[at - 1] < order[at]);
      }
    }
  }

  const Schema schema_{{MakeField("n", TypeId::kInt64), MakeField("key", TypeId::kString, false)}};
};

TEST_F(KeyedRowsTest, TheRowsOfAKeyStandTogetherInTheirOrder) {
  Open();
  const std::vector<std::string> keys = {"b", "a", "b", "", "a", "b"};
  auto rows = Make(BatchOf(keys));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->keys().size(), 3u);
  Numbers order = OrderOf(&*rows);
  std::map<std::string, Numbers> found;
  for (size_t k = 0; k < 3; ++k) {
    Numbers of_key(order.begin() + rows->begin(k), order.begin() + rows->end(k));
    const std::string& key = keys[static_cast<size_t>(of_key[0])];
    EXPECT_EQ(rows->keys()[k].bytes, Encoded(key));
    found[key] = of_key;
  }
  EXPECT_EQ(found, (std::map<std::string, Numbers>{{"", {3}}, {"a", {1, 4}}, {"b", {0, 2, 5}}}));
}

// Keys that are alike in their first eight bytes and more, too.
TEST_F(KeyedRowsTest, KeysComeInTheOrderOfRowKeysAndEachRowOnce) {
  Open();
  std::mt19937 random(5);
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) {
    std::string key = random() % 2 == 0 ? "a long head, and then " : "";
    keys.push_back(key + std::to_string(random() % 1000));
  }
  ExpectOrdered(keys);
}

TEST_F(KeyedRowsTest, KeysOfOneLengthThatDifferLateComeInOrder) {
  Open();
  std::mt19937 random(6);
  for (int digits : {1, 3, 8, 9, 12}) {
    std::vector<std::string> keys;
    for (int i = 0; i < 2000; ++i) {
      std::string key = "customer-";
      for (int d = 0; d < digits; ++d) key += static_cast<char>('0' + random() % 2);
      keys.push_back(key);
    }
    ExpectOrdered(keys);
  }
}

TEST_F(KeyedRowsTest, KeysThatAreTheSameOrAreOthersBeginningsComeInOrder) {
  Open();
  ExpectOrdered({"same", "same", "same"});
  ExpectOrdered({"ab", "a", "", "abc", std::string("a\0", 2), std::string("ab\0", 3), "a", "ab"});
}

TEST_F(KeyedRowsTest, ABatchWithoutRowsHasNoKeys) {
  Open();
  auto rows = Make(BatchOf({}));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_TRUE(rows->keys().empty());
  EXPECT_TRUE(OrderOf(&*rows).empty());
}

TEST_F(KeyedRowsTest, AKeyColumnThatIsMissingIsNamed) {
  Open();
  auto rows = Make(BatchOf({"a"}), "user");
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.status().kind(), ErrorKind::kInvalid);
  EXPECT_NE(rows.status().message().find("'user' is missing"), std::string::npos);
}

TEST_F(KeyedRowsTest, AKeyOfAnotherBackendsGroupsIsRefused) {
  options_.first_group = 0;
  options_.last_group = 0;
  Open();
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) keys.push_back(std::to_string(i));
  auto rows = Make(BatchOf(keys));
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.status().kind(), ErrorKind::kInvalid);
  EXPECT_NE(rows.status().message().find("groups 0 to 0"), std::string::npos);
}

}  // namespace
}  // namespace flint
