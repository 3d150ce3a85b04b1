#include "base/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace flint {
namespace {

// Encodes a code point in so many bytes, whether that is right or not.
std::string Encoded(uint32_t point, int bytes) {
  constexpr uint8_t kLeads[] = {0, 0, 0xC0, 0xE0, 0xF0};
  if (bytes == 1) return std::string(1, static_cast<char>(point));
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) {
    uint8_t mark = i == bytes - 1 ? kLeads[bytes] : 0x80;
    uint8_t most = i == bytes - 1 ? 0xFF : 0x3F;
    out.push_back(static_cast<char>(mark | (point >> (6 * i) & most)));
  }
  return out;
}

int BytesOf(uint32_t point) {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}

TEST(Utf8, IsEveryCodePointInAsManyBytesAsItNeeds) {
  for (uint32_t point = 0; point < 0x120000; ++point) {
    bool is_one = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
    for (int bytes = BytesOf(point); bytes <= 4; ++bytes) {
      bool right = is_one && bytes == BytesOf(point);
      ASSERT_EQ(IsUtf8(Encoded(point, bytes)), right) << point << " in " << bytes;
    }
  }
}

TEST(Utf8, IsNotWhatIsCutOrStray) {
  for (const std::string& character :
       {std::string("\xC3\xA9"), std::string("\xE2\x82\xAC"), std::string("\xF0\x9F\x98\x80")}) {
    for (size_t before = 0; before < 70; ++before) {
      std::string text = std::string(before, 'a') + character;
      EXPECT_TRUE(IsUtf8(text + "b" + text));
      for (size_t cut = 1; cut < character.size(); ++cut) {
        EXPECT_FALSE(IsUtf8(text.substr(0, text.size() - cut)));
        EXPECT_FALSE(IsUtf8(text.substr(0, text.size() - cut) + "a"));
        EXPECT_FALSE(IsUtf8(std::string(before, 'a') + character.substr(cut)));
      }
    }
  }
}

TEST(Ascii, IsFoundOutWhereverAHighByteLies) {
  for (size_t size = 0; size < 200; ++size) {
    std::string text(size, 'x');
    EXPECT_TRUE(IsAscii(text));
    for (size_t at = 0; at < size; ++at) {
      text[at] = '\x80';
      EXPECT_FALSE(IsAscii(text));
      text[at] = 'x';
    }
  }
}

}  // namespace
}  // namespace flint
