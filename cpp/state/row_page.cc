#include "state/row_page.h"

#include <algorithm>
#include <cstring>

namespace flint {
namespace {

// Fewer dead bytes than this are not worth a compaction.
constexpr size_t kDeadBytesMin = 1024;

}  // namespace

uint64_t HeadOf(std::string_view suffix, size_t from) {
  uint64_t head = 0;
  if (suffix.size() > from) {
    std::memcpy(&head, suffix.data() + from, std::min<size_t>(sizeof head, suffix.size() - from));
  }
  return __builtin_bswap64(head);
}

size_t CommonBytes(std::string_view a, std::string_view b) {
  size_t size = std::min(a.size(), b.size());
  size_t same = 0;
  while (same < size && a[same] == b[same]) ++same;
  return same;
}

size_t RowPage::LowerBound(std::string_view suffix) const {
  if (slots_.empty()) return 0;
  int order = suffix.substr(0, common_).compare(this->suffix(0).substr(0, common_));
  if (order != 0) return order < 0 ? 0 : slots_.size();
  uint64_t head = HeadOf(suffix, common_);
  auto below = [&](const Slot& slot) {
    if (slot.head != head) return slot.head < head;
    return std::string_view(bytes_.data() + slot.at, slot.suffix_size) < suffix;
  };
  if (below(slots_.back())) return slots_.size();  // what comes in order comes at the end
  auto at = std::partition_point(slots_.begin(), slots_.end(), below);
  return static_cast<size_t>(at - slots_.begin());
}

void RowPage::LimitCommon(size_t common) {
  if (common >= common_) return;
  common_ = common;
  for (size_t row = 0; row < slots_.size(); ++row) slots_[row].head = HeadOf(suffix(row), common_);
}

void RowPage::Insert(size_t row, std::string_view suffix, std::string_view stored, RowFlags flags) {
  if (slots_.empty())
    common_ = suffix.size();
  else if (suffix.substr(0, common_) != this->suffix(0).substr(0, common_))
    LimitCommon(CommonBytes(suffix, this->suffix(0)));
  auto at = static_cast<uint32_t>(bytes_.size());
  bytes_.append(suffix).append(stored);
  slots_.insert(slots_.begin() + static_cast<ptrdiff_t>(row),
                {HeadOf(suffix, common_), at, static_cast<uint32_t>(suffix.size()),
                 static_cast<uint32_t>(stored.size()), flags});
}

void RowPage::SetStored(size_t row, std::string_view stored) {
  Slot& slot = slots_[row];
  if (stored.size() <= slot.stored_size) {
    dead_ += slot.stored_size - stored.size();
    if (!stored.empty()) {
      std::memcpy(bytes_.data() + slot.at + slot.suffix_size, stored.data(), stored.size());
    }
    slot.stored_size = static_cast<uint32_t>(stored.size());
  } else {
    dead_ += BytesOf(slot);
    auto at = static_cast<uint32_t>(bytes_.size());
    bytes_.reserve(bytes_.size() + slot.suffix_size + stored.size());
    bytes_.append(bytes_.data() + slot.at, slot.suffix_size).append(stored);
    slot.at = at;
    slot.stored_size = static_cast<uint32_t>(stored.size());
  }
  Compact();
}

void RowPage::Erase(size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) dead_ += BytesOf(slots_[row]);
  slots_.erase(slots_.begin() + static_cast<ptrdiff_t>(begin),
               slots_.begin() + static_cast<ptrdiff_t>(end));
  Compact();
}

void RowPage::EraseAbsent() {
  std::erase_if(slots_, [this](const Slot& slot) {
    if (!slot.flags.present) dead_ += BytesOf(slot);
    return !slot.flags.present;
  });
  Compact();
}

RowPage RowPage::SplitAt(size_t row) {
  RowPage tail;
  tail.slots_.reserve(slots_.capacity());
  for (size_t i = row; i < slots_.size(); ++i) {
    Slot slot = slots_[i];
    std::string_view bytes(bytes_.data() + slot.at, BytesOf(slot));
    slot.at = static_cast<uint32_t>(tail.bytes_.size());
    tail.bytes_.append(bytes);
    tail.slots_.push_back(slot);
    dead_ += bytes.size();
  }
  slots_.resize(row);
  tail.common_ = common_;
  for (RowPage* half : {this, &tail}) {
    // Sorted rows have in common what the first and the last one have.
    half->common_ = CommonBytes(half->suffix(0), half->suffix(half->size() - 1));
    for (Slot& slot : half->slots_) {
      slot.head = HeadOf({half->bytes_.data() + slot.at, slot.suffix_size}, half->common_);
    }
  }
  Compact();
  return tail;
}

void RowPage::Compact() {
  if (dead_ < kDeadBytesMin || dead_ * 2 < bytes_.size()) return;
  std::string bytes;
  bytes.reserve(bytes_.size() - dead_);
  for (Slot& slot : slots_) {
    auto at = static_cast<uint32_t>(bytes.size());
    bytes.append(bytes_.data() + slot.at, BytesOf(slot));
    slot.at = at;
  }
  bytes_ = std::move(bytes);
  dead_ = 0;
}

}  // namespace flint
