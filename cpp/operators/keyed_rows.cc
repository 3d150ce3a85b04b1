#include "operators/keyed_rows.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "key/key_encoder.h"

namespace flint {
namespace {

// A key's place among the others: its group, then its bytes, the first of which travel along, so
// that most comparisons look at nothing else.
struct Place {
  uint64_t head;
  uint32_t number;
  uint16_t group;
};

uint64_t HeadOf(std::string_view key) {
  uint64_t head = 0;
  std::memcpy(&head, key.data(), std::min(key.size(), sizeof head));
  return __builtin_bswap64(head);
}

std::vector<Place> InOrder(const std::vector<StateKey>& keys) {
  std::vector<Place> places;
  places.reserve(keys.size());
  for (const StateKey& key : keys) {
    places.push_back({HeadOf(key.bytes), static_cast<uint32_t>(places.size()), key.group});
  }
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    if (a.group != b.group) return a.group < b.group;
    if (a.head != b.head) return a.head < b.head;
    return keys[a.number].bytes < keys[b.number].bytes;
  });
  return places;
}

}  // namespace

Result<KeyedRows> KeyedRows::Make(const BatchView& batch, const Schema& key,
                                  const Backend& backend) {
  KeyedRows result;
  std::vector<ColumnView> columns;
  for (const Field& field : key.fields) {
    int at = batch.schema.IndexOf(field.name);
    if (at < 0) return Status::Invalid("key column '" + field.name + "' is missing");
    columns.push_back(batch.columns[static_cast<size_t>(at)]);
  }
  KeyEncoder encoder(backend.key_schema());
  FLINT_RETURN_IF_ERROR(encoder.Append(columns, 0, batch.num_rows, &result.encoded_));
  std::vector<std::string_view> views(static_cast<size_t>(batch.num_rows));
  for (size_t row = 0; row < views.size(); ++row) {
    views[row] = result.encoded_[static_cast<int64_t>(row)];
  }
  KeyNumbers numbers = NumberKeys(views);
  RowOrder order = OrderByPart(numbers.of_row, numbers.count);
  std::vector<StateKey> keys;
  keys.reserve(numbers.count);
  for (size_t k = 0; k < numbers.count; ++k) {
    auto first = static_cast<size_t>(order.order[static_cast<size_t>(order.starts[k])]);
    FLINT_ASSIGN_OR_RETURN(StateKey located, backend.Locate(views[first]));
    keys.push_back(located);
  }
  result.keys_.reserve(numbers.count);
  result.ends_.reserve(numbers.count + 1);
  result.ends_.push_back(0);
  result.order_.Reserve(batch.num_rows);
  for (const Place& place : InOrder(keys)) {
    result.keys_.push_back(keys[place.number]);
    auto begin = static_cast<size_t>(order.starts[place.number]);
    auto end = static_cast<size_t>(order.starts[place.number + 1]);
    for (size_t i = begin; i < end; ++i) result.order_.Append(order.order[i]);
    result.ends_.push_back(result.order_.size());
  }
  return result;
}

OwnedArray KeyedRows::TakeOrder() {
  ArrowArray array;
  order_.Finish(&array);
  return OwnedArray(&array);
}

}  // namespace flint
