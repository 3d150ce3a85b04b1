#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "row/layout.h"

namespace flint {

// Write one value, part by part, onto the end of a string that is used again and again: nothing is
// allocated once it has grown. What of a value is of fixed width is written into its slot, which
// its holder has made and zeroed; what is variable is appended, and then its end is noted. Members
// and elements are visited in order, each once. Sizes are not checked: whoever writes a row refuses
// one that came out longer than kRowBytesMax.

// The members of a struct, or the columns of a row.
//
//   size_t at = TupleWriter::Append(layout, out);
//   TupleWriter tuple(layout, out, at);
//   for each member: tuple.SetNull(member), or
//     fixed: write the value at out->data() + tuple.SlotAt(member)
//     variable: append the value to out, then tuple.End(member)
class TupleWriter {
 public:
  // Appends null bits, slots and ends, all zero; says where they begin.
  static size_t Append(const TupleLayout& layout, std::string* out) {
    size_t at = out->size();
    out->append(layout.values_at, '\0');
    return at;
  }
  // A tuple whose first part is at `at`, zero.
  TupleWriter(const TupleLayout& layout, std::string* out, size_t at)
      : layout_(layout), out_(out), at_(at) {}

  void SetNull(const MemberLayout& member) {
    char& byte = (*out_)[at_ + member.null_byte];
    byte = static_cast<char>(byte | member.null_mask);
    if (!member.value.fixed) End(member);
  }
  size_t SlotAt(const MemberLayout& member) const { return at_ + member.slot_at; }
  void End(const MemberLayout& member) {
    if (member.variable + 1 == layout_.variable_count) return;
    auto end = static_cast<uint32_t>(out_->size() - at_ - layout_.values_at);
    std::memcpy(out_->data() + at_ + layout_.ends_at + 4 * member.variable, &end, sizeof end);
  }

 private:
  const TupleLayout& layout_;
  std::string* out_;
  size_t at_;
};

// The elements of a list; of a map, its entries.
class ListWriter {
 public:
  // A list of fixed width, whose bytes are at `at`, zero.
  ListWriter(const ValueLayout& layout, std::string* out, size_t at)
      : layout_(layout), out_(out), count_(static_cast<uint32_t>(layout.type.size)), nulls_at_(at) {
    slots_at_ = nulls_at_ + NullBytes();
  }
  // Appends the count (but not a fixed-size list's), null bits, and slots or ends, all zero.
  ListWriter(const ValueLayout& layout, std::string* out, uint32_t count)
      : layout_(layout), out_(out), count_(count) {
    if (layout.type.id != TypeId::kFixedList) {
      out->append(reinterpret_cast<const char*>(&count), sizeof count);
    }
    nulls_at_ = out->size();
    slots_at_ = nulls_at_ + NullBytes();
    bool fixed = layout.element().value.fixed;
    size_t slots = fixed ? size_t{count} * layout.element_width() : count > 0 ? 4 * (count - 1) : 0;
    out->append(NullBytes() + slots, '\0');
    values_at_ = out->size();
  }

  void SetNull(uint32_t i) {
    char& byte = (*out_)[nulls_at_ + i / 8];
    byte = static_cast<char>(byte | 1 << (i % 8));
    if (!layout_.element().value.fixed) End(i);
  }
  size_t SlotAt(uint32_t i) const { return slots_at_ + size_t{i} * layout_.element_width(); }
  void End(uint32_t i) {
    if (i + 1 == count_) return;
    auto end = static_cast<uint32_t>(out_->size() - values_at_);
    std::memcpy(out_->data() + slots_at_ + 4 * size_t{i}, &end, sizeof end);
  }

 private:
  size_t NullBytes() const { return layout_.element().nullable ? (size_t{count_} + 7) / 8 : 0; }

  const ValueLayout& layout_;
  std::string* out_;
  uint32_t count_;
  size_t nulls_at_;
  size_t slots_at_;
  size_t values_at_ = 0;
};

}  // namespace flint
