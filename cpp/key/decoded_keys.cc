#include "key/decoded_keys.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"
#include "key/key_decoder.h"

namespace flint {
namespace {

constexpr size_t kBatchRows = 65536;
// Decoded strings are no longer than their keys, so this keeps 32-bit offsets from overflowing.
constexpr size_t kBatchBytes = size_t{1} << 28;

class DecodedKeys : public BatchSource {
 public:
  DecodedKeys(KeySchema schema, std::vector<OwnedArray> chunks, std::vector<ColumnView> views)
      : decoder_(std::move(schema)), chunks_(std::move(chunks)), views_(std::move(views)) {}

  const Schema& schema() const override { return decoder_.schema().schema(); }

  Result<std::optional<OwnedArray>> Next() override {
    while (chunk_ < views_.size() && row_ == views_[chunk_].size()) {
      ++chunk_;
      row_ = 0;
    }
    if (chunk_ == views_.size()) return std::optional<OwnedArray>();
    FLINT_RETURN_IF_ERROR(Gather());
    BatchBuilder builder(schema());
    std::vector<ColumnBuilder*> columns;
    for (size_t k = 0; k < builder.num_columns(); ++k) columns.push_back(&builder.column(k));
    FLINT_RETURN_IF_ERROR(decoder_.Append(keys_, columns));
    return std::optional(builder.Finish(static_cast<int64_t>(keys_.size())));
  }

 private:
  // The keys of the next batch: never across chunks.
  Status Gather() {
    keys_.clear();
    size_t bytes = 0;
    const ColumnView& view = views_[chunk_];
    while (row_ < view.size() && keys_.size() < kBatchRows && bytes < kBatchBytes) {
      if (view.IsNull(row_)) {
        return Status::Invalid("encoded key " + std::to_string(row_) + " of chunk " +
                               std::to_string(chunk_) + " is null");
      }
      keys_.push_back(view.Bytes(row_++));
      bytes += keys_.back().size();
    }
    return Status();
  }

  KeyDecoder decoder_;
  std::vector<OwnedArray> chunks_;
  std::vector<ColumnView> views_;
  size_t chunk_ = 0;
  int64_t row_ = 0;
  std::vector<std::string_view> keys_;
};

}  // namespace

Result<std::unique_ptr<BatchSource>> DecodeKeys(KeySchema schema, const DataType& type,
                                                std::vector<OwnedArray> chunks) {
  DataType plain = type.Plain();
  bool binary = (plain.IsBytes() && !plain.IsString()) || plain.id == TypeId::kFixedBinary;
  if (!binary) {
    return Status::Invalid("encoded keys are a binary array, got one of " + type.ToString());
  }
  std::vector<ColumnView> views;
  for (const OwnedArray& chunk : chunks) {
    FLINT_ASSIGN_OR_RETURN(ColumnView view, ColumnView::Make(type, *chunk));
    views.push_back(std::move(view));
  }
  return std::unique_ptr<BatchSource>(
      std::make_unique<DecodedKeys>(std::move(schema), std::move(chunks), std::move(views)));
}

}  // namespace flint
