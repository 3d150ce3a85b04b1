#include <gtest/gtest.h>

#include "key/columns.h"
#include "key/key_encoder.h"
#include "key/key_schema.h"

namespace flint {
namespace {

using namespace std::string_view_literals;

const Schema kSchema{{MakeField("s", TypeId::kString, false), MakeField("t", TypeId::kString)}};

OwnedBatch MakeRows() {
  return MakeBatch(kSchema, 3, [](BatchBuilder& builder) {
    for (std::string_view text : {"a"sv, "a\0"sv, ""sv}) builder.column(0).AppendBytes(text);
    builder.column(1).AppendBytes("x");
    builder.column(1).AppendNull();
    builder.column(1).AppendBytes("");
  });
}

TEST(KeyPrefix, FirstColumnsEncodeToAPrefixOfTheKey) {
  OwnedBatch batch = MakeRows();
  KeySchema schema = *KeySchema::Make(kSchema, {});
  EncodedKeys keys, prefixes, nothing;
  ASSERT_TRUE(KeyEncoder(schema).Append(batch.view, &keys).ok());
  ASSERT_TRUE(KeyEncoder(schema, 1).Append(batch.view, &prefixes).ok());
  ASSERT_TRUE(KeyEncoder(schema, 0).Append(batch.view, &nothing).ok());
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(keys[i].starts_with(prefixes[i]));
    EXPECT_EQ(nothing[i], "");
  }
  EXPECT_EQ(prefixes[0], "a\0"sv);
  EXPECT_EQ(prefixes[1], "a\1\1\0"sv);
}

TEST(KeyPrefix, SuccessorIsTheSmallestAfterAllThatBeginWithIt) {
  EXPECT_EQ(PrefixSuccessor("ab"), "ac");
  EXPECT_EQ(PrefixSuccessor("a\xFF\xFF"), "b");
  EXPECT_EQ(PrefixSuccessor("\xFF\xFF"), std::nullopt);
  EXPECT_EQ(PrefixSuccessor(""), std::nullopt);
}

TEST(KeyPrefix, AfterAWholeKeyWithAnOpenEndOnlyThatKeyIsLeftOut) {
  KeySchema open = *KeySchema::Make(kSchema, {});
  EXPECT_EQ(open.After("k", 2), "k\0"sv);
  EXPECT_EQ(open.After("k", 1), "l");
  EXPECT_EQ(open.After("", 0), std::nullopt);
  KeySchema terminated =
      *KeySchema::Make(kSchema, {}, NullOrder::kFirst, KeySchema::End::kTerminated);
  EXPECT_EQ(terminated.After("k", 2), "l");
}

TEST(KeyPrefix, ColumnsAreTakenByNameWhateverTheirOrder) {
  OwnedBatch batch = MakeRows();
  Schema turned{{kSchema[1], kSchema[0]}};
  KeySchema schema = *KeySchema::Make(turned, {});
  EncodedKeys keys;
  ASSERT_TRUE(KeyEncoder(schema).Append(batch.view, &keys).ok());
  EXPECT_EQ(keys[0], "\2x\0a"sv);
  Schema other{{MakeField("u", TypeId::kInt8)}};
  Status missing = KeyEncoder(*KeySchema::Make(other, {})).Append(batch.view, &keys);
  EXPECT_EQ(missing.message(),
            "key column 'u' (int8): there is no such column in the batch (s: string not null, "
            "t: string)");
  Schema wrong{{MakeField("t", TypeId::kInt8)}};
  Status type = KeyEncoder(*KeySchema::Make(wrong, {})).Append(batch.view, &keys);
  EXPECT_EQ(type.message(),
            "key column 't' (int8): the batch has it as string: cast it to the key's type");
}

}  // namespace
}  // namespace flint
