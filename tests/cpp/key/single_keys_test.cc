#include <gtest/gtest.h>

#include "key/columns.h"
#include "key/key_decoder.h"
#include "key/key_encoder.h"
#include "key/key_group.h"
#include "key/key_reader.h"
#include "key/key_writer.h"
#include "key/xxh64.h"

namespace flint {
namespace {

const Schema kThree{{MakeField("n", TypeId::kInt64), MakeField("s", TypeId::kString),
                     MakeField("b", TypeId::kBool, false)}};

std::string WriteKey(const KeySchema& schema, int64_t number, std::string_view text) {
  KeyWriter writer;
  char yes = 1;
  writer.AppendSlot(schema.part(0), &number);
  writer.AppendBytes(schema.part(1), text);
  writer.AppendSlot(schema.part(2), &yes);
  return std::string(writer.bytes());
}

TEST(SingleKeys, AreReadAsTheyWereWritten) {
  KeySchema schema = *KeySchema::Make(kThree, {"s"});
  std::string key = WriteKey(schema, -7, std::string_view("a\0b", 3));
  KeyReader reader(key);
  bool present = false;
  int64_t number = 0;
  std::string_view text;
  char flag = 0;
  ASSERT_TRUE(reader.TakeMarker(schema.part(0), &present).ok() && present);
  ASSERT_TRUE(reader.TakeSlot(schema.part(0), &number).ok());
  ASSERT_TRUE(reader.TakeMarker(schema.part(1), &present).ok() && present);
  ASSERT_TRUE(reader.TakeBytes(schema.part(1), &text).ok());
  EXPECT_EQ(number, -7);
  EXPECT_EQ(text, std::string_view("a\0b", 3));
  ASSERT_TRUE(reader.TakeMarker(schema.part(2), &present).ok() && present);
  ASSERT_TRUE(reader.TakeSlot(schema.part(2), &flag).ok());
  EXPECT_EQ(flag, 1);
  EXPECT_TRUE(reader.CheckNothingLeft(schema.part(2)).ok());
}

TEST(SingleKeys, EveryShorterOneIsCorruption) {
  KeySchema schema = *KeySchema::Make(kThree, {});
  std::string key = WriteKey(schema, 5, "text");
  KeyDecoder decoder(schema);
  for (size_t size = 0; size < key.size(); ++size) {
    BatchBuilder builder(schema.schema());
    std::vector<ColumnBuilder*> out{&builder.column(0), &builder.column(1), &builder.column(2)};
    std::string_view cut(key.data(), size);
    Status status = decoder.Append({&cut, 1}, out);
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_EQ(status.kind(), ErrorKind::kCorruption);
  }
}

TEST(SingleKeys, SomeColumnsCanBeLeftOut) {
  KeySchema schema = *KeySchema::Make(kThree, {});
  std::string key = WriteKey(schema, 5, "text");
  std::string_view view = key;
  BatchBuilder builder(schema.schema());
  std::vector<ColumnBuilder*> out{nullptr, &builder.column(1)};
  ASSERT_TRUE(KeyDecoder(schema).Append({&view, 1}, out).ok());
  EXPECT_EQ(builder.column(1).size(), 1);
  EXPECT_EQ(builder.column(0).size(), 0);
}

TEST(SingleKeys, HaveTheGroupOfTheirRow) {
  OwnedBatch batch = MakeBatch(kThree, 1, [](BatchBuilder& builder) {
    builder.column(0).Append(int64_t{5});
    builder.column(1).AppendBytes("text");
    builder.column(2).AppendBool(true);
  });
  KeyGroupHash hash = *KeyGroupHash::Make(kThree, 1000);
  uint16_t group = 0;
  ASSERT_TRUE(hash.GroupsOf(batch.view.columns, 0, 1, &group).ok());
  EXPECT_EQ(hash.GroupOf(WriteKey(hash.canonical(), 5, "text")), group);
}

// From the hash's own published test vectors.
TEST(Xxh64, GivesThePublishedHashes) {
  EXPECT_EQ(Xxh64("", 0), 0xEF46DB3751D8E999);
  EXPECT_EQ(Xxh64("abc", 0), 0x44BC2CF5AD770999);
}

}  // namespace
}  // namespace flint
