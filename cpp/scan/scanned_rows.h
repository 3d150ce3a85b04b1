#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace flint {

// Keys and rows copied from a cursor, whose own bytes are gone with its next step: few enough to
// stay in the processor's cache until they are decoded.
class ScannedRows {
 public:
  static constexpr size_t kRowsMax = 1024;
  static constexpr size_t kBytesMax = 128 << 10;

  void Clear() {
    size_ = 0;
    used_ = 0;
    bytes_ = 0;
    large_.clear();
  }
  bool full() const { return size_ >= kRowsMax || used_ >= kBytesMax; }
  size_t size() const { return size_; }
  size_t bytes() const { return bytes_; }
  // Requires that it is not full.
  void Append(std::string_view key, std::string_view row) {
    keys_[size_] = Copy(key);
    rows_[size_] = Copy(row);
    ++size_;
    bytes_ += key.size() + row.size();
  }

  std::span<const std::string_view> keys() const { return {keys_.data(), size_}; }
  std::span<const std::string_view> rows() const { return {rows_.data(), size_}; }

 private:
  std::string_view Copy(std::string_view bytes) {
    if (bytes.empty()) return "";
    if (used_ + bytes.size() > kBytesMax) {
      large_.push_back(std::make_unique_for_overwrite<char[]>(bytes.size()));
      used_ = kBytesMax;
      std::memcpy(large_.back().get(), bytes.data(), bytes.size());
      return {large_.back().get(), bytes.size()};
    }
    if (memory_ == nullptr) memory_ = std::make_unique_for_overwrite<char[]>(kBytesMax);
    char* at = memory_.get() + used_;
    std::memcpy(at, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {at, bytes.size()};
  }

  std::unique_ptr<char[]> memory_;
  size_t used_ = 0;
  size_t bytes_ = 0;
  std::vector<std::unique_ptr<char[]>> large_;
  size_t size_ = 0;
  std::array<std::string_view, kRowsMax> keys_;
  std::array<std::string_view, kRowsMax> rows_;
};

}  // namespace flint
