#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/checksum.h"
#include "row/random_rows.h"
#include "row/row_decoder.h"
#include "row/row_encoder.h"
#include "row/row_reader.h"

namespace flint {
namespace {

using testing::FieldOf;
using testing::OwnedBatch;
using testing::Random;

// A copy whose memory ends with the row, so that a sanitizer sees every byte read past it.
class Exact {
 public:
  explicit Exact(std::string_view row) : size_(row.size()), bytes_(new char[row.size()]) {
    std::copy(row.begin(), row.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<char[]> bytes_;
};

std::string Damaged(Random& random, std::string row) {
  if (testing::Upto(random, 2) == 0) row.resize(testing::Upto(random, row.size()));
  if (testing::Upto(random, 5) == 0) row.append(testing::Upto(random, 9), '\xFF');
  for (int64_t flips = testing::Upto(random, 3); flips > 0 && !row.empty(); --flips) {
    row[testing::Upto(random, row.size() - 1)] ^= 1 << testing::Upto(random, 7);
  }
  return row;
}

// Reads all that can be read of a row, and says what was wrong, if anything was.
Status ReadAll(const std::shared_ptr<const RowSchema>& schema, std::string_view row) {
  RowReader reader(*schema);
  FLINT_RETURN_IF_ERROR(reader.Open(row));
  for (size_t k = 0; k < schema->columns().size(); ++k) {
    bool null = false;
    std::string_view value;
    FLINT_RETURN_IF_ERROR(reader.Read(k, &null, &value));
  }
  return Status();
}

Status DecodeAll(const std::shared_ptr<const RowSchema>& schema, std::string_view row,
                 OwnedArray* out) {
  BatchBuilder builder(schema->columns());
  std::vector<ColumnBuilder*> columns;
  for (size_t k = 0; k < builder.num_columns(); ++k) columns.push_back(&builder.column(k));
  FLINT_RETURN_IF_ERROR(RowDecoder(schema).Decode({&row, 1}, columns));
  *out = builder.Finish(1);
  return Status();
}

TEST(ADamagedRow, IsCorruptionOrAnotherRowButNeverReadPastItsEnd) {
  Random random(11);
  int refused = 0;
  int taken = 0;
  for (int round = 0; round < 400; ++round) {
    Schema columns = testing::RandomSchema(random, 5);
    auto schema = *RowSchema::Make(columns);
    OwnedBatch batch = testing::RandomBatch(random, columns, 8);
    RowEncoder encoder(schema);
    ASSERT_TRUE(encoder.Encode(batch.Columns(), 0, 8).ok());
    for (int64_t i = 0; i < 8 * 6; ++i) {
      Exact row(Damaged(random, std::string(encoder.row(i % 8))));
      OwnedArray decoded;
      Status status = DecodeAll(schema, row.view(), &decoded);
      static_cast<void>(ReadAll(schema, row.view()));
      if (status.ok()) {  // what was decoded must be whole: it can be encoded again
        ++taken;
        auto whole = BatchView::Make(columns, *decoded);
        if (!whole.ok()) {  // but for letters: those are checked where they come in
          EXPECT_THAT(whole.status().message(), ::testing::HasSubstr("UTF-8"));
          continue;
        }
        OwnedBatch again(columns, std::move(decoded));
        static_cast<void>(again.Texts());
      } else {
        ++refused;
        EXPECT_EQ(status.kind(), ErrorKind::kCorruption);
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 1000);
}

// The same columns, some dropped, the rest moved, with one more that has a default.
std::shared_ptr<const RowSchema> Changed(Random& random, const RowSchema& schema) {
  Schema wanted{{FieldOf("added", TypeId::kInt32, false)}};
  for (const Field& field : schema.columns().fields) {
    if (testing::Upto(random, 3) > 0) wanted.fields.insert(wanted.fields.begin(), field);
  }
  return *schema.Evolve(wanted, {{"added", std::string("\7\0\0\0", 4)}});
}

TEST(ADamagedRow, OfAnOlderVersionIsCorruptionOrAnotherRowToo) {
  Random random(13);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    Schema columns = testing::RandomSchema(random, 5);
    auto schema = *RowSchema::Make(columns);
    auto changed = Changed(random, *schema);
    OwnedBatch batch = testing::RandomBatch(random, columns, 8);
    RowEncoder encoder(schema);
    ASSERT_TRUE(encoder.Encode(batch.Columns(), 0, 8).ok());
    for (int64_t i = 0; i < 8; ++i) {
      OwnedArray decoded;
      Status whole = DecodeAll(changed, encoder.row(i), &decoded);
      ASSERT_TRUE(whole.ok()) << whole.message();
      OwnedBatch read(changed->columns(), std::move(decoded));
      EXPECT_EQ(testing::Text(read.view.columns.back(), 0), "07000000");
      Exact row(Damaged(random, std::string(encoder.row(i))));
      OwnedArray again;
      Status status = DecodeAll(changed, row.view(), &again);
      EXPECT_TRUE(status.ok() || status.kind() == ErrorKind::kCorruption);
      static_cast<void>(ReadAll(changed, row.view()));
      refused += status.ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(ADamagedRow, IsRefusedWhereItIsEmptyOrOfAnUnknownVersion) {
  auto schema = *RowSchema::Make({{FieldOf("a", TypeId::kInt64)}});
  OwnedArray out;
  for (std::string_view row : {std::string_view(""), std::string_view("\1\0\0\0\0\0\0\0\0\0", 10),
                               std::string_view("\0\0\0", 3)}) {
    Exact exact(row);
    std::string_view view = row.empty() ? row : exact.view();
    EXPECT_EQ(DecodeAll(schema, view, &out).kind(), ErrorKind::kCorruption);
    EXPECT_EQ(ReadAll(schema, view).kind(), ErrorKind::kCorruption);
  }
}

TEST(ADamagedCount, TakesNoMemoryBeforeItIsRefused) {
  Schema columns{{testing::ListOf("l", FieldOf("item", TypeId::kNull), false)}};
  auto schema = *RowSchema::Make(columns);
  Exact row(std::string_view("\0\xFF\xFF\xFF\xFF", 5));
  OwnedArray out;
  EXPECT_EQ(DecodeAll(schema, row.view(), &out).kind(), ErrorKind::kCorruption);
}

TEST(ADamagedHistory, IsNeverReadPastItsEndWhetherItsChecksumTellsOrNot) {
  Random random(12);
  for (int round = 0; round < 1000; ++round) {
    std::string whole = (*RowSchema::Make(testing::RandomSchema(random, 5)))->Serialize();
    std::string damaged = Damaged(random, whole.substr(0, whole.size() - 4));
    if (round % 2 == 0) {
      uint32_t checksum = Crc32c(damaged);
      damaged.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    }
    Exact bytes(damaged);
    auto parsed = RowSchema::Parse(bytes.view());
    if (damaged.substr(0, 5) == whole.substr(0, 5) && !parsed.ok()) {
      EXPECT_EQ(parsed.status().kind(), ErrorKind::kCorruption);
    }
  }
}

}  // namespace
}  // namespace flint
