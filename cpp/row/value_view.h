#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/status.h"
#include "row/layout.h"

namespace flint {

// Readers of the bytes of stored values. Every access is checked against the bytes that are there:
// whatever those hold, nothing outside is read. A value that can't be as it should is "damaged".

static_assert(std::endian::native == std::endian::little, "rows are stored little-endian");

template <class T>
T LoadUnaligned(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline Status DamagedValue(const DataType& type) {
  return Status::Corruption("a stored value of type " + type.ToString() +
                            " is damaged: its parts don't fit its size");
}

// A tuple's bytes: its members' null bits and values.
class TupleView {
 public:
  // False where `bytes` can't be a tuple of `layout`.
  bool Open(const TupleLayout& layout, std::string_view bytes) {
    layout_ = &layout;
    bytes_ = bytes;
    return layout.variable_count > 0 ? bytes.size() >= layout.values_at
                                     : bytes.size() == layout.values_at;
  }

  bool IsNull(const MemberLayout& member) const {
    return member.nullable &&
           (static_cast<uint8_t>(bytes_[member.null_byte]) & member.null_mask) != 0;
  }
  // A fixed member's bytes, zeros where it is null.
  const char* Slot(const MemberLayout& member) const { return bytes_.data() + member.slot_at; }
  // The bytes of any member that is not null; false where it is damaged.
  bool Value(const MemberLayout& member, std::string_view* value) const {
    if (member.value.fixed) {
      *value = {Slot(member), member.value.width};
      return true;
    }
    size_t begin = member.variable == 0 ? 0 : End(member.variable - 1);
    size_t end = End(member.variable);
    if (begin > end || end > bytes_.size() - layout_->values_at) return false;
    *value = bytes_.substr(layout_->values_at + begin, end - begin);
    return true;
  }

 private:
  size_t End(uint32_t variable) const {
    if (variable + 1 == layout_->variable_count) return bytes_.size() - layout_->values_at;
    return LoadUnaligned<uint32_t>(bytes_.data() + layout_->ends_at + 4 * variable);
  }

  const TupleLayout* layout_ = nullptr;
  std::string_view bytes_;
};

// A list's bytes (a map's are those of the list of its entries): its count and elements.
class ListView {
 public:
  bool Open(const ValueLayout& layout, std::string_view bytes) {
    const MemberLayout& element = layout.element();
    count_ = static_cast<uint32_t>(layout.type.size);
    if (layout.type.id != TypeId::kFixedList) {
      if (bytes.size() < 4) return false;
      count_ = LoadUnaligned<uint32_t>(bytes.data());
      bytes.remove_prefix(4);
    }
    fixed_ = element.value.fixed;
    nullable_ = element.nullable;
    width_ = fixed_ ? element.value.width : 4;
    step_ = fixed_ ? layout.element_width() : 4;
    uint64_t null_bytes = nullable_ ? (uint64_t{count_} + 7) / 8 : 0;
    uint64_t slots = fixed_ ? uint64_t{count_} * step_ : 4 * uint64_t{count_ > 0 ? count_ - 1 : 0};
    uint64_t head = null_bytes + slots;
    if (bytes.size() < head || ((fixed_ || count_ == 0) && bytes.size() != head)) return false;
    nulls_ = bytes.data();
    slots_ = nulls_ + null_bytes;
    values_ = bytes.substr(head);
    return true;
  }

  uint32_t count() const { return count_; }
  bool IsNull(uint32_t i) const { return nullable_ && (nulls_[i / 8] >> (i % 8) & 1) != 0; }
  bool HasNulls() const {
    if (!nullable_) return false;
    return std::string_view(nulls_, (size_t{count_} + 7) / 8).find_first_not_of('\0') !=
           std::string_view::npos;
  }
  // Fixed elements: their slots, one after another.
  const char* slots() const { return slots_; }
  // The bytes of any element that is not null; false where it is damaged.
  bool Value(uint32_t i, std::string_view* value) const {
    if (fixed_) {
      *value = {slots_ + size_t{i} * step_, width_};
      return true;
    }
    size_t begin = i == 0 ? 0 : End(i - 1);
    size_t end = End(i);
    if (begin > end || end > values_.size()) return false;
    *value = values_.substr(begin, end - begin);
    return true;
  }

 private:
  size_t End(uint32_t i) const {
    if (i + 1 == count_) return values_.size();
    return LoadUnaligned<uint32_t>(slots_ + 4 * size_t{i});
  }

  uint32_t count_ = 0;
  uint32_t width_ = 0;
  uint32_t step_ = 0;
  bool fixed_ = false;
  bool nullable_ = false;
  const char* nulls_ = nullptr;
  const char* slots_ = nullptr;
  std::string_view values_;
};

}  // namespace flint
