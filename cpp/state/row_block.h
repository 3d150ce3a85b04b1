#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace flint {

// Rows that were read, in one run of bytes: nothing is allocated for each of them.
class RowBlock {
 public:
  void Append(std::string_view suffix, std::string_view stored) {
    rows_.push_back({bytes_.size(), suffix.size(), stored.size()});
    bytes_.append(suffix).append(stored);
  }
  void Clear() {
    rows_.clear();
    bytes_.clear();
  }
  // Turns the order round.
  void Reverse() { std::reverse(rows_.begin(), rows_.end()); }

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  std::string_view suffix(size_t i) const { return {bytes_.data() + rows_[i].at, rows_[i].suffix}; }
  std::string_view stored(size_t i) const {
    return {bytes_.data() + rows_[i].at + rows_[i].suffix, rows_[i].stored};
  }
  // The least suffix behind the last row's. Requires a row.
  std::string Behind() const { return std::string(suffix(size() - 1)) + '\0'; }

 private:
  struct Row {
    size_t at;
    size_t suffix;
    size_t stored;
  };

  std::vector<Row> rows_;
  std::string bytes_;
};

}  // namespace flint
