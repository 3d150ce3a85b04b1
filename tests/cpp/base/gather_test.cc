#include "base/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flint {
namespace {

// A file that takes `at_most` bytes a call, and fails once it has `limit`.
struct SmallFile {
  size_t at_most;
  size_t limit = SIZE_MAX;
  std::string bytes = {};
  std::vector<int> pieces_seen = {};

  Result<size_t> operator()(const iovec* pieces, int count) {
    pieces_seen.push_back(count);
    if (bytes.size() >= limit) return Status::IO("full");
    size_t left = std::min(at_most, limit - bytes.size()), taken = 0;
    for (int i = 0; i < count && left > taken; ++i) {
      size_t size = std::min(pieces[i].iov_len, left - taken);
      bytes.append(static_cast<const char*>(pieces[i].iov_base), size);
      taken += size;
    }
    return taken;
  }
};

const std::vector<std::string_view> kPieces = {"one", "", "twenty", "", "3", "four hundred"};
const std::string kWhole = "onetwenty3four hundred";

TEST(GatherTest, PiecesAreWrittenByOneCall) {
  SmallFile file{100};
  ASSERT_TRUE(WritePieces(kPieces, std::ref(file)).ok());
  EXPECT_EQ(file.bytes, kWhole);
  EXPECT_EQ(file.pieces_seen, std::vector<int>{6});
}

TEST(GatherTest, APartialWriteIsContinuedWhereItStopped) {
  for (size_t at_most = 1; at_most <= kWhole.size(); ++at_most) {
    SmallFile file{at_most};
    ASSERT_TRUE(WritePieces(kPieces, std::ref(file)).ok());
    EXPECT_EQ(file.bytes, kWhole) << at_most;
  }
}

TEST(GatherTest, MorePiecesThanACallTakesAreWrittenByMoreCalls) {
  std::vector<std::string> numbers;
  std::string whole;
  for (int i = 0; i < 150; ++i) whole += numbers.emplace_back(std::to_string(i));
  std::vector<std::string_view> pieces(numbers.begin(), numbers.end());
  SmallFile file{1000};
  ASSERT_TRUE(WritePieces(pieces, std::ref(file)).ok());
  EXPECT_EQ(file.bytes, whole);
  EXPECT_EQ(file.pieces_seen, (std::vector<int>{64, 64, 22}));
}

TEST(GatherTest, AnErrorStopsItBehindWhatIsWritten) {
  SmallFile file{4, 10};
  Status failed = WritePieces(kPieces, std::ref(file));
  EXPECT_EQ(failed.message(), "full");
  EXPECT_EQ(file.bytes, kWhole.substr(0, 10));
}

TEST(GatherTest, NothingIsWrittenByNoCall) {
  SmallFile file{4};
  EXPECT_TRUE(WritePieces({}, std::ref(file)).ok());
  EXPECT_TRUE(file.pieces_seen.empty());
}

}  // namespace
}  // namespace flint
