#include <gtest/gtest.h>

#include "row/random_rows.h"
#include "row/row_decoder.h"
#include "row/row_encoder.h"

namespace flint {
namespace {

using testing::FieldOf;
using testing::OwnedBatch;
using testing::Random;

std::shared_ptr<const RowSchema> SchemaOf(const Schema& columns) {
  return *RowSchema::Make(columns);
}

std::vector<std::string_view> RowsOf(const RowEncoder& encoder) {
  std::vector<std::string_view> rows;
  for (int64_t i = 0; i < encoder.num_rows(); ++i) rows.push_back(encoder.row(i));
  return rows;
}

OwnedBatch Decoded(const RowDecoder& decoder, const Schema& schema,
                   const std::vector<std::string_view>& rows) {
  Schema chosen;
  for (int k : decoder.columns()) chosen.fields.push_back(schema.fields[static_cast<size_t>(k)]);
  BatchBuilder builder(chosen);
  std::vector<ColumnBuilder*> out;
  for (size_t k = 0; k < chosen.size(); ++k) out.push_back(&builder.column(k));
  Status status = decoder.Decode(rows, out);
  EXPECT_TRUE(status.ok()) << status.message();
  return {chosen, builder.Finish(static_cast<int64_t>(rows.size()))};
}

TEST(Rows, OfAnySchemaComeBackAsTheyWere) {
  Random random(1);
  for (int round = 0; round < 600; ++round) {
    Schema columns = testing::RandomSchema(random, 6);
    OwnedBatch batch = testing::RandomBatch(random, columns, testing::Upto(random, 40));
    auto schema = SchemaOf(columns);
    RowEncoder encoder(schema);
    Status status = encoder.Encode(batch.Columns(), 0, batch.view.num_rows);
    ASSERT_TRUE(status.ok()) << status.message() << " " << columns.ToString();
    RowDecoder decoder(schema);
    ASSERT_EQ(Decoded(decoder, columns, RowsOf(encoder)).Texts(), batch.Texts())
        << columns.ToString();
  }
}

TEST(Rows, AreDecodedForTheColumnsAskedForInTheOrderAsked) {
  Random random(2);
  Schema columns{{FieldOf("a", TypeId::kInt64), FieldOf("b", TypeId::kString),
                  FieldOf("c", TypeId::kBool), FieldOf("d", TypeId::kBinary)}};
  OwnedBatch batch = testing::RandomBatch(random, columns, 50);
  auto schema = SchemaOf(columns);
  RowEncoder encoder(schema);
  ASSERT_TRUE(encoder.Encode(batch.Columns(), 0, 50).ok());
  OwnedBatch some = Decoded(RowDecoder(schema, {3, 0}), columns, RowsOf(encoder));
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(testing::Text(some.view.columns[0], i), testing::Text(batch.view.columns[3], i));
    EXPECT_EQ(testing::Text(some.view.columns[1], i), testing::Text(batch.view.columns[0], i));
  }
}

TEST(Rows, OfAPartOfABatchAreThatPart) {
  Random random(3);
  Schema columns = testing::RandomSchema(random, 6);
  OwnedBatch batch = testing::RandomBatch(random, columns, 30);
  auto schema = SchemaOf(columns);
  RowEncoder encoder(schema);
  ASSERT_TRUE(encoder.Encode(batch.Columns(), 10, 15).ok());
  std::vector<std::string> all = batch.Texts();
  EXPECT_EQ(Decoded(RowDecoder(schema), columns, RowsOf(encoder)).Texts(),
            std::vector<std::string>(all.begin() + 10, all.begin() + 25));
}

TEST(AnAbsentRow, IsNullInEveryColumn) {
  Schema columns{{FieldOf("a", TypeId::kInt64, false), FieldOf("b", TypeId::kString)}};
  Random random(4);
  OwnedBatch batch = testing::RandomBatch(random, columns, 1);
  auto schema = SchemaOf(columns);
  RowEncoder encoder(schema);
  ASSERT_TRUE(encoder.Encode(batch.Columns(), 0, 1).ok());
  OwnedBatch back = Decoded(RowDecoder(schema), columns, {std::string_view(), encoder.row(0), {}});
  EXPECT_EQ(back.Texts(),
            (std::vector<std::string>{"null | null | ", batch.Texts()[0], "null | null | "}));
}

TEST(ACell, OfOneIntegerTakesTenBytesAndNineWhereItIsNeverNull) {
  for (bool nullable : {true, false}) {
    Schema columns{{FieldOf("v", TypeId::kInt64, nullable)}};
    BatchBuilder builder(columns);
    builder.column(0).Append(int64_t{0x0102030405060708});
    OwnedBatch batch(columns, builder.Finish(1));
    RowEncoder encoder(SchemaOf(columns));
    ASSERT_TRUE(encoder.Encode(batch.Columns(), 0, 1).ok());
    EXPECT_EQ(encoder.row(0), std::string(nullable ? 2 : 1, '\0') + "\x08\7\6\5\4\3\2\1");
  }
}

}  // namespace
}  // namespace flint
