#include <gtest/gtest.h>

#include "key/columns.h"
#include "key/key_encoder.h"

namespace flint {
namespace {

using namespace std::string_view_literals;

KeySchema MakeSchema(const Schema& schema, std::vector<std::string> descending = {}) {
  return *KeySchema::Make(schema, descending);
}

TEST(KeyEncoder, WritesTheDocumentsExample) {
  Schema schema{{MakeField("a", TypeId::kInt64), MakeField("b", TypeId::kString)}};
  OwnedBatch batch = MakeBatch(schema, 1, [](BatchBuilder& builder) {
    builder.column(0).Append(int64_t{3});
    builder.column(1).AppendBytes("y\0z"sv);
  });
  EncodedKeys keys;
  ASSERT_TRUE(KeyEncoder(MakeSchema(schema, {"b"})).Append(batch.view, &keys).ok());
  ASSERT_EQ(keys.size(), 1);
  EXPECT_EQ(keys[0], "\x02\x80\0\0\0\0\0\0\x03\x02\x86\xFE\xFE\x85\xFF"sv);
}

TEST(KeyEncoder, WritesAnOpenStringAsItIs) {
  Schema schema{{MakeField("s", TypeId::kString, false)}};
  OwnedBatch batch = MakeBatch(schema, 3, [](BatchBuilder& builder) {
    for (std::string_view text : {"", "plain", "\0\1"}) builder.column(0).AppendBytes(text);
  });
  EncodedKeys keys;
  ASSERT_TRUE(KeyEncoder(MakeSchema(schema)).Append(batch.view, &keys).ok());
  EXPECT_EQ(keys[0], "");
  EXPECT_EQ(keys[1], "plain");
}

TEST(KeyEncoder, RefusesANullInANotNullColumnAndNamesTheRow) {
  Schema schema{{MakeField("id", TypeId::kInt32, false)}};
  OwnedBatch batch = MakeBatch(schema, 2, [](BatchBuilder& builder) {
    builder.column(0).Append(int32_t{1});
    builder.column(0).AppendNull();
  });
  EncodedKeys keys;
  Status status = KeyEncoder(MakeSchema(schema)).Append(batch.view, &keys);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(),
            "key column 'id' (int32): it is declared not null, but row 1 is null");
}

}  // namespace
}  // namespace flint
