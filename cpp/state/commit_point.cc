#include "state/commit_point.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"

namespace flint {
namespace {

constexpr size_t kSize = 32;
constexpr uint8_t kFormat = 1;
constexpr uint8_t kHasVersion = 1;
constexpr uint8_t kBetween = 2;

}  // namespace

// 0 format, 1 flags, 2 zero, 4 checksum of the rest, 8 version, 24 last sequence.
std::string CommitPoint::Serialize() const {
  std::string out(kSize, '\0');
  out[0] = kFormat;
  out[1] = static_cast<char>((version ? kHasVersion : 0) | (between ? kBetween : 0));
  if (version) std::copy(version->begin(), version->end(), out.begin() + 8);
  std::memcpy(&out[24], &last_sequence, 8);
  uint32_t checksum = ExtendCrc32c(Crc32c({out.data(), 4}), {out.data() + 8, kSize - 8});
  std::memcpy(&out[4], &checksum, 4);
  return out;
}

Result<CommitPoint> CommitPoint::Parse(std::string_view bytes) {
  uint32_t checksum = 0;
  if (bytes.size() == kSize) std::memcpy(&checksum, &bytes[4], 4);
  if (bytes.size() != kSize || bytes[0] != kFormat ||
      checksum != ExtendCrc32c(Crc32c(bytes.substr(0, 4)), bytes.substr(8))) {
    return Status::Corruption("the commit point in _meta is damaged, or of a newer format");
  }
  CommitPoint point;
  if ((bytes[1] & kHasVersion) != 0) {
    point.version.emplace();
    std::copy_n(bytes.begin() + 8, point.version->size(), point.version->begin());
  }
  point.between = (bytes[1] & kBetween) != 0;
  std::memcpy(&point.last_sequence, &bytes[24], 8);
  return point;
}

std::string VersionText(const std::optional<VersionId>& version) {
  if (!version) return "none";
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : *version) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace flint
