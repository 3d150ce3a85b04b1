#include "operators/keyed_rows.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "key/encoded_keys.h"
#include "key/key_encoder.h"

namespace flint {
namespace {

// A row, and eight bytes of its key, which decide most comparisons without a look at the key.
struct Place {
  uint64_t head;
  uint32_t row;
};

size_t CommonPrefix(const EncodedKeys& keys) {
  const std::string_view first = keys[0];
  size_t common = first.size();
  for (int64_t row = 1; row < keys.size() && common > 0; ++row) {
    const std::string_view key = keys[row].substr(0, common);
    common = static_cast<size_t>(std::mismatch(key.begin(), key.end(), first.begin()).first -
                                 key.begin());
  }
  return common;
}

// The order of keys: by their heads, which begin where the keys begin to differ, then by all bytes.
class KeyOrder {
 public:
  explicit KeyOrder(const EncodedKeys& keys) : keys_(keys), skipped_(CommonPrefix(keys)) {
    const size_t size = keys[0].size();
    heads_decide_ = size - skipped_ <= sizeof(uint64_t);
    for (int64_t row = 1; row < keys.size() && heads_decide_; ++row) {
      heads_decide_ = keys[row].size() == size;
    }
  }

  Place PlaceOf(uint32_t row) const {
    const std::string_view rest = keys_[row].substr(skipped_);
    uint64_t head = 0;
    std::memcpy(&head, rest.data(), std::min(rest.size(), sizeof head));
    return {__builtin_bswap64(head), row};
  }

  bool Equal(const Place& a, const Place& b) const {
    return a.head == b.head && (heads_decide_ || keys_[a.row] == keys_[b.row]);
  }

  bool operator()(const Place& a, const Place& b) const {
    if (a.head != b.head) return a.head < b.head;
    if (!heads_decide_) {
      const int order = keys_[a.row].compare(keys_[b.row]);
      if (order != 0) return order < 0;
    }
    return a.row < b.row;  // rows of one key keep their order
  }

 private:
  const EncodedKeys& keys_;
  const size_t skipped_;
  bool heads_decide_;  // keys are equal where their heads are
};

Result<std::vector<uint32_t>> GroupsOf(const EncodedKeys& keys, const Backend& backend) {
  std::vector<uint32_t> groups(static_cast<size_t>(keys.size()));
  for (size_t row = 0; row < groups.size(); ++row) {
    FLINT_ASSIGN_OR_RETURN(StateKey key, backend.Locate(keys[static_cast<int64_t>(row)]));
    groups[row] = key.group;
  }
  return groups;
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
  EncodedKeys keys;
  FLINT_RETURN_IF_ERROR(encoder.Append(columns, 0, batch.num_rows, &keys));
  result.ends_.push_back(0);
  if (batch.num_rows == 0) return result;
  FLINT_RETURN_IF_ERROR(result.Order(keys, backend));
  return result;
}

Status KeyedRows::Order(const EncodedKeys& keys, const Backend& backend) {
  FLINT_ASSIGN_OR_RETURN(std::vector<uint32_t> groups, GroupsOf(keys, backend));
  const uint32_t group_count = *std::max_element(groups.begin(), groups.end()) + 1;
  const RowOrder by_group = OrderByPart(groups, group_count);
  const KeyOrder order(keys);
  bytes_.reserve(keys.data_bytes());
  order_.Reserve(keys.size());
  std::vector<Place> places;
  // Group by group, as many rows as the processor's cache holds.
  for (uint32_t group = 0; group < group_count; ++group) {
    places.clear();
    for (int64_t i = by_group.starts[group]; i < by_group.starts[group + 1]; ++i) {
      places.push_back(
          order.PlaceOf(static_cast<uint32_t>(by_group.order[static_cast<size_t>(i)])));
    }
    std::sort(places.begin(), places.end(), order);
    for (size_t i = 0; i < places.size(); ++i) {
      if (i == 0 || !order.Equal(places[i - 1], places[i])) {
        if (order_.size() > 0) ends_.push_back(order_.size());
        FLINT_RETURN_IF_ERROR(AddKey(keys[places[i].row], backend));
      }
      order_.Append(static_cast<int64_t>(places[i].row));
    }
  }
  ends_.push_back(order_.size());
  return {};
}

// Copied, so that those who take the keys in turn find their bytes in turn.
Status KeyedRows::AddKey(std::string_view key, const Backend& backend) {
  const size_t at = bytes_.size();
  bytes_.insert(bytes_.end(), key.begin(), key.end());
  FLINT_ASSIGN_OR_RETURN(StateKey located, backend.Locate({bytes_.data() + at, key.size()}));
  keys_.push_back(located);
  return {};
}

OwnedArray KeyedRows::TakeOrder() {
  ArrowArray array;
  order_.Finish(&array);
  return OwnedArray(&array);
}

}  // namespace flint
