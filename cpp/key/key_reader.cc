#include "key/key_reader.h"

#include <array>
#include <string>

#include "key/escaped.h"
#include "key/key_writer.h"
#include "key/ordered.h"

namespace flint {
namespace {

constexpr size_t kLargestWord = 32;

Status CutShort(const KeyPart& part) { return part.Corruption("the key is cut short"); }

}  // namespace

Status KeyReader::TakeMarker(const KeyPart& part, bool* present) {
  *present = true;
  if (!part.marked) return Status();
  if (rest_.empty()) return CutShort(part);
  auto marker = static_cast<uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  if (marker == kPresentMarker) return Status();
  if (marker != part.null_marker || !part.nullable) {
    return part.Corruption("no marker is " + std::to_string(marker));
  }
  *present = false;
  if (!part.fixed()) return Status();
  auto width = static_cast<size_t>(part.width);
  if (rest_.size() < width) return CutShort(part);
  if (rest_.substr(0, width).find_first_not_of('\0') != std::string_view::npos) {
    return part.Corruption("the padding of a null is not zero");
  }
  rest_.remove_prefix(width);
  return Status();
}

Status KeyReader::TakeSlot(const KeyPart& part, void* slot) {
  auto width = static_cast<size_t>(part.width);
  if (rest_.size() < width) return CutShort(part);
  const char* bytes = rest_.data();
  auto* out = static_cast<char*>(slot);
  rest_.remove_prefix(width);
  if (part.code == KeyCode::kRaw) {
    CopyMasked(bytes, width, MaskOf(part), out);
    return Status();
  }
  WithCodec(part, [&](auto codec) { codec.Decode(bytes, MaskOf(part), out); });
  if (part.type.id == TypeId::kBool && static_cast<uint8_t>(*out) > 1) {
    return part.Corruption("a bool is neither 0 nor 1");
  }
  return Status();
}

Status KeyReader::TakeBytes(const KeyPart& part, std::string_view* value) {
  if (part.code == KeyCode::kOpenBytes) {
    *value = rest_;
    rest_ = {};
    return Status();
  }
  size_t plain = FindLow(rest_, MaskOf(part));
  if (plain == rest_.size()) return CutShort(part);
  auto stop = static_cast<uint8_t>(rest_[plain] ^ static_cast<char>(MaskOf(part)));
  if (stop != kEnd || part.descending) return Unescape(part, value);
  *value = rest_.substr(0, plain);
  rest_.remove_prefix(plain + 1);
  return Status();
}

Status KeyReader::Unescape(const KeyPart& part, std::string_view* value) {
  unescaped_.clear();
  const uint64_t mask = MaskOf(part);
  const auto invert = static_cast<char>(mask);
  while (true) {
    size_t plain = FindLow(rest_, mask);
    size_t before = unescaped_.size();
    unescaped_.resize(before + plain);
    CopyMasked(rest_.data(), plain, mask, unescaped_.data() + before);
    rest_.remove_prefix(plain);
    if (rest_.empty()) return CutShort(part);
    auto stop = static_cast<uint8_t>(rest_.front() ^ invert);
    rest_.remove_prefix(1);
    if (stop == kEnd) break;
    if (rest_.empty()) return CutShort(part);
    auto escaped = static_cast<uint8_t>(static_cast<uint8_t>(rest_.front() ^ invert) - kEscapedMin);
    if (escaped > kEscape) return part.Corruption("an unknown escape");
    unescaped_.push_back(static_cast<char>(escaped));
    rest_.remove_prefix(1);
  }
  *value = unescaped_;
  return Status();
}

Status KeyReader::TakeElement(const KeyPart& part, bool* more) {
  if (rest_.empty()) return CutShort(part);
  *more = static_cast<uint8_t>(rest_.front() ^ static_cast<char>(MaskOf(part))) != kEnd;
  if (!*more) rest_.remove_prefix(1);
  return Status();
}

Status KeyReader::CheckNothingLeft(const KeyPart& last) const {
  if (rest_.empty()) return Status();
  return last.Corruption(std::to_string(rest_.size()) + " bytes follow the last column's value");
}

Status KeyReader::TakeCell(const KeyPart& part, ColumnBuilder* out) {
  bool present = false;
  FLINT_RETURN_IF_ERROR(TakeMarker(part, &present));
  if (present) return TakeValue(part, out);
  if (out != nullptr) out->AppendNull();
  return Status();
}

Status KeyReader::TakeValue(const KeyPart& part, ColumnBuilder* out) {
  switch (part.code) {
    case KeyCode::kStruct:
      for (size_t k = 0; k < part.children.size(); ++k) {
        FLINT_RETURN_IF_ERROR(TakeCell(part.children[k], out ? &out->child(k) : nullptr));
      }
      if (out != nullptr) out->FinishRow();
      return Status();
    case KeyCode::kFixedList:
    case KeyCode::kList:
      return TakeElements(part, out);
    case KeyCode::kBytes:
    case KeyCode::kOpenBytes: {
      std::string_view value;
      FLINT_RETURN_IF_ERROR(TakeBytes(part, &value));
      if (out != nullptr) out->AppendBytes(value);
      return Status();
    }
    default:
      break;
  }
  return TakeFixed(part, out);
}

Status KeyReader::TakeFixed(const KeyPart& part, ColumnBuilder* out) {
  if (out == nullptr && part.type.id != TypeId::kBool) {
    auto width = static_cast<size_t>(part.width);
    if (rest_.size() < width) return CutShort(part);
    rest_.remove_prefix(width);
    return Status();
  }
  std::array<char, kLargestWord> word;
  std::string raw;
  char* slot = word.data();
  if (part.code == KeyCode::kRaw) {
    raw.resize(static_cast<size_t>(part.width));
    slot = raw.data();
  }
  FLINT_RETURN_IF_ERROR(TakeSlot(part, slot));
  if (out == nullptr) return Status();
  if (part.type.id == TypeId::kBool) {
    out->AppendBool(*slot != 0);
  } else {
    out->AppendSlot(slot);
  }
  return Status();
}

Status KeyReader::TakeElements(const KeyPart& part, ColumnBuilder* out) {
  ColumnBuilder* elements = out != nullptr ? &out->child(0) : nullptr;
  if (part.code == KeyCode::kFixedList) {
    for (int32_t i = 0; i < part.type.size; ++i) {
      FLINT_RETURN_IF_ERROR(TakeCell(part.children[0], elements));
    }
  } else {
    bool more = false;
    FLINT_RETURN_IF_ERROR(TakeElement(part, &more));
    while (more) {
      FLINT_RETURN_IF_ERROR(TakeCell(part.children[0], elements));
      FLINT_RETURN_IF_ERROR(TakeElement(part, &more));
    }
  }
  if (out != nullptr) out->FinishRow();
  return Status();
}

}  // namespace flint
