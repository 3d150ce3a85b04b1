#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "store/batch_encoder.h"

namespace flint {

// Encoders of one table that nobody uses now: they keep memory that is worth keeping, and work for
// one thread at a time. Thread-safe.
struct IdleEncoders {
  std::mutex mutex;
  std::vector<std::unique_ptr<BatchEncoder>> encoders;
};

// An encoder for as long as this lives: an idle one, or a new one.
class EncoderLoan {
 public:
  EncoderLoan(IdleEncoders* idle, const std::shared_ptr<const TableSchema>& schema) : idle_(idle) {
    {
      std::lock_guard<std::mutex> lock(idle->mutex);
      if (!idle->encoders.empty()) {
        encoder_ = std::move(idle->encoders.back());
        idle->encoders.pop_back();
      }
    }
    if (encoder_ == nullptr) encoder_ = std::make_unique<BatchEncoder>(schema);
  }
  ~EncoderLoan() {
    if (encoder_->memory_bytes() > kKeptBytesMax) return;
    std::lock_guard<std::mutex> lock(idle_->mutex);
    if (idle_->encoders.size() < kKeptMax) idle_->encoders.push_back(std::move(encoder_));
  }
  EncoderLoan(const EncoderLoan&) = delete;
  EncoderLoan& operator=(const EncoderLoan&) = delete;

  BatchEncoder& operator*() { return *encoder_; }
  BatchEncoder* operator->() { return encoder_.get(); }

 private:
  static constexpr size_t kKeptMax = 4;
  static constexpr size_t kKeptBytesMax = 16 << 20;

  IdleEncoders* idle_;
  std::unique_ptr<BatchEncoder> encoder_;
};

}  // namespace flint
