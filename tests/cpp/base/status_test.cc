#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace flint {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Status::Invalid(std::to_string(value) + " is odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  FLINT_ASSIGN_OR_RETURN(int half, Half(value));
  return Half(half);
}

Status CheckQuarter(int value) {
  FLINT_RETURN_IF_ERROR(Quarter(value).status());
  return Status();
}

TEST(Status, IsOkByDefault) {
  EXPECT_TRUE(Status().ok());
  EXPECT_TRUE(Status::Ok().ok());
}

TEST(Status, KeepsKindAndMessage) {
  Status status = Status::Corruption("block 3 is damaged");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.kind(), ErrorKind::kCorruption);
  EXPECT_EQ(status.message(), "block 3 is damaged");
}

TEST(Status, ContextGoesBeforeTheMessageAndKeepsTheKind) {
  Status status = Status::IO("disk full").WithContext("table 'clicks'").WithContext("put");
  EXPECT_EQ(status.kind(), ErrorKind::kIO);
  EXPECT_EQ(status.message(), "put: table 'clicks': disk full");
  EXPECT_TRUE(Status().WithContext("put").ok());
}

TEST(Status, CopiesShareOneError) {
  Status copy;
  {
    Status original = Status::Busy("held");
    copy = original;
  }
  EXPECT_EQ(copy.message(), "held");
}

TEST(Result, HoldsAValueOrTheReasonWhyNot) {
  EXPECT_EQ(*Half(8), 4);
  EXPECT_TRUE(Half(8).status().ok());
  EXPECT_EQ(Half(7).status().message(), "7 is odd");
}

TEST(Result, ErrorsTravelOutThroughTheMacros) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "3 is odd");
  EXPECT_EQ(CheckQuarter(5).message(), "5 is odd");
  EXPECT_TRUE(CheckQuarter(4).ok());
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 7);
}

}  // namespace
}  // namespace flint
