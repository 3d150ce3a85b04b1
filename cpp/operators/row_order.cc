#include "operators/row_order.h"

#include <bit>
#include <cstring>
#include <functional>

namespace flint {

RowOrder OrderByPart(std::span<const uint32_t> part_of_row, uint32_t parts) {
  RowOrder result;
  result.starts.assign(size_t{parts} + 1, 0);
  for (uint32_t part : part_of_row) ++result.starts[part + 1];
  for (uint32_t part = 0; part < parts; ++part) result.starts[part + 1] += result.starts[part];
  std::vector<int64_t> next(result.starts.begin(), result.starts.end() - 1);
  result.order.resize(part_of_row.size());
  for (size_t row = 0; row < part_of_row.size(); ++row) {
    result.order[static_cast<size_t>(next[part_of_row[row]]++)] = static_cast<int64_t>(row);
  }
  return result;
}

namespace {

struct Slot {
  uint64_t hash = 0;
  uint32_t row = 0;
  uint32_t number_plus_one = 0;  // 0: empty
};

}  // namespace

KeyNumbers NumberKeys(std::span<const std::string_view> keys) {
  KeyNumbers result;
  result.of_row.resize(keys.size());
  std::vector<Slot> slots(std::bit_ceil(keys.size() * 2 + 2));
  const size_t mask = slots.size() - 1;
  for (size_t row = 0; row < keys.size(); ++row) {
    const uint64_t hash = std::hash<std::string_view>()(keys[row]);
    size_t at = hash & mask;
    while (slots[at].number_plus_one != 0 &&
           (slots[at].hash != hash || keys[slots[at].row] != keys[row])) {
      at = (at + 1) & mask;
    }
    if (slots[at].number_plus_one == 0) {
      slots[at] = {hash, static_cast<uint32_t>(row), ++result.count};
    }
    result.of_row[row] = slots[at].number_plus_one - 1;
  }
  return result;
}

}  // namespace flint
