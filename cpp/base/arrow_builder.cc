#include "base/arrow_builder.h"

#include <algorithm>
#include <utility>

namespace flint {
namespace {

constexpr size_t kSmallest = 256;

// What an exported ArrowArray owns.
struct ExportedArray {
  std::vector<MemoryBlock> memory;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;

  ~ExportedArray() {
    for (const MemoryBlock& block : memory) GiveMemory(block);
    for (ArrowArray& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
  }
};

void ReleaseExported(ArrowArray* array) {
  delete static_cast<ExportedArray*>(array->private_data);
  array->release = nullptr;
}

void Give(ArrowBuffer* buffer, ExportedArray* owned) {
  if (buffer->data() == nullptr) buffer->Reserve(1);  // consumers want no null data pointer
  owned->memory.emplace_back();
  owned->memory.back() = buffer->Release();
  owned->buffers.push_back(owned->memory.back().data);
}

void Export(std::unique_ptr<ExportedArray> owned, int64_t length, int64_t null_count,
            ArrowArray* out) {
  for (ArrowArray& child : owned->children) owned->child_pointers.push_back(&child);
  *out = ArrowArray{};
  out->length = length;
  out->null_count = null_count;
  out->n_buffers = static_cast<int64_t>(owned->buffers.size());
  out->n_children = static_cast<int64_t>(owned->children.size());
  out->buffers = owned->buffers.data();
  out->children = owned->child_pointers.data();
  out->release = ReleaseExported;
  out->private_data = owned.release();
}

bool HasSmallOffsets(TypeId id) {
  return id == TypeId::kString || id == TypeId::kBinary || id == TypeId::kList ||
         id == TypeId::kMap;
}

bool HasLargeOffsets(TypeId id) {
  return id == TypeId::kLargeString || id == TypeId::kLargeBinary || id == TypeId::kLargeList;
}

}  // namespace

ArrowBuffer::ArrowBuffer(ArrowBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

ArrowBuffer& ArrowBuffer::operator=(ArrowBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

void ArrowBuffer::Grow(size_t at_least) {
  const MemoryBlock grown = TakeMemory(std::max({at_least, capacity_ * 2, kSmallest}));
  if (size_ != 0) std::memcpy(grown.data, data_, size_);
  GiveMemory({data_, capacity_});
  data_ = grown.data;
  capacity_ = grown.size;
}

MemoryBlock ArrowBuffer::Release() {
  size_ = 0;
  return {std::exchange(data_, nullptr), std::exchange(capacity_, 0)};
}

ColumnBuilder::ColumnBuilder(DataType type) : type_(std::move(type)), width_(type_.FixedWidth()) {
  for (const Field& child : type_.children) children_.emplace_back(child.type);
  PushOffset(0);
}

void ColumnBuilder::Reserve(int64_t rows) {
  size_t count = static_cast<size_t>(rows);
  if (width_ > 0) data_.Reserve(count * static_cast<size_t>(width_));
  if (HasSmallOffsets(type_.id)) offsets_.Reserve((count + 1) * sizeof(int32_t));
  if (HasLargeOffsets(type_.id)) offsets_.Reserve((count + 1) * sizeof(int64_t));
}

void ColumnBuilder::ReserveAlike(int64_t rows, size_t bytes_max) {
  Reserve(rows);
  if (!type_.IsBytes() || size_ == 0) return;
  const size_t wanted = data_.size() / static_cast<size_t>(size_) * static_cast<size_t>(rows);
  data_.Reserve(std::min(wanted + wanted / 16, bytes_max));  // rows are never quite alike
}

void ColumnBuilder::PushOffset(int64_t end) {
  if (HasSmallOffsets(type_.id)) offsets_.Push(static_cast<int32_t>(end));
  if (HasLargeOffsets(type_.id)) offsets_.Push(end);
}

// Row `size_` is valid or not. The bitmap begins with the first null: all rows before were valid.
void ColumnBuilder::PushValidity(bool valid) {
  size_t bytes = static_cast<size_t>(size_ / 8 + 1);
  size_t before = validity_.size();
  if (bytes > before) {
    validity_.Resize(bytes);
    std::memset(validity_.data() + before, null_count_ > 0 ? 0 : 0xFF, bytes - before);
  }
  char mask = static_cast<char>(1 << (size_ & 7));
  char& byte = validity_.data()[size_ / 8];
  byte = static_cast<char>(valid ? byte | mask : byte & ~mask);
}

void ColumnBuilder::AppendBool(bool value) {
  size_t bytes = static_cast<size_t>(size_ / 8 + 1);
  if (data_.size() < bytes) data_.Push(char{0});
  if (value) data_.data()[size_ / 8] |= static_cast<char>(1 << (size_ & 7));
  MarkValid();
}

void ColumnBuilder::AppendBytes(std::string_view bytes) {
  MarkValid();
  data_.Append(bytes.data(), bytes.size());
  PushOffset(static_cast<int64_t>(data_.size()));
}

template <class Offset>
void ColumnBuilder::PushAllBytes(std::span<const std::string_view> values, size_t bytes) {
  const size_t before = data_.size(), offsets_before = offsets_.size();
  data_.Resize(before + bytes);
  offsets_.Resize(offsets_before + values.size() * sizeof(Offset));
  char* at = data_.data() + before;
  auto* ends = reinterpret_cast<Offset*>(offsets_.data() + offsets_before);
  for (std::string_view value : values) {
    if (!value.empty()) std::memcpy(at, value.data(), value.size());
    at += value.size();
    *ends++ = static_cast<Offset>(at - data_.data());
  }
}

void ColumnBuilder::AppendAllBytes(std::span<const std::string_view> values) {
  if (null_count_ > 0 || values.empty()) {
    for (std::string_view value : values) AppendBytes(value);
    return;
  }
  size_t bytes = 0;
  for (std::string_view value : values) bytes += value.size();
  size_ += static_cast<int64_t>(values.size());
  if (HasSmallOffsets(type_.id))
    PushAllBytes<int32_t>(values, bytes);
  else
    PushAllBytes<int64_t>(values, bytes);
}

void ColumnBuilder::AppendNull() {
  switch (type_.id) {
    case TypeId::kNull:
      break;
    case TypeId::kBool:
      if (data_.size() < static_cast<size_t>(size_ / 8 + 1)) data_.Push(char{0});
      break;
    case TypeId::kStruct:
      for (ColumnBuilder& child : children_) child.AppendNull();
      break;
    case TypeId::kFixedList:
      for (int32_t i = 0; i < type_.size; ++i) children_[0].AppendNull();
      break;
    case TypeId::kList:
    case TypeId::kLargeList:
    case TypeId::kMap:
      PushOffset(children_[0].size());
      break;
    default:
      if (type_.IsBytes()) {
        PushOffset(static_cast<int64_t>(data_.size()));
      } else {
        size_t width = static_cast<size_t>(width_);
        data_.Resize(data_.size() + width);
        if (width > 0) std::memset(data_.data() + data_.size() - width, 0, width);
      }
  }
  if (type_.id != TypeId::kNull) PushValidity(false);
  ++null_count_;
  ++size_;
}

void ColumnBuilder::FinishRow() {
  MarkValid();
  if (type_.IsList()) PushOffset(children_[0].size());
}

char* ColumnBuilder::ExtendSlots(int64_t count) {
  if (null_count_ > 0) {
    for (int64_t i = 0; i < count; ++i) MarkValid();
  } else {
    size_ += count;
  }
  size_t before = data_.size();
  data_.Resize(before + static_cast<size_t>(count) * static_cast<size_t>(width_));
  return data_.data() + before;
}

void ColumnBuilder::Finish(ArrowArray* out) {
  auto owned = std::make_unique<ExportedArray>();
  if (type_.id != TypeId::kNull) {
    if (null_count_ > 0) {
      Give(&validity_, owned.get());
    } else {
      owned->buffers.push_back(nullptr);
    }
  }
  if (offsets_.size() > 0) Give(&offsets_, owned.get());
  if (type_.IsBytes() || width_ > 0 || type_.id == TypeId::kBool ||
      type_.id == TypeId::kFixedBinary) {
    Give(&data_, owned.get());
  }
  owned->children.resize(children_.size());
  for (size_t k = 0; k < children_.size(); ++k) children_[k].Finish(&owned->children[k]);
  Export(std::move(owned), size_, null_count_, out);
  *this = ColumnBuilder(std::move(type_));
}

void ExportBytes(int64_t length, ArrowBuffer offsets, ArrowBuffer data, ArrowArray* out) {
  auto owned = std::make_unique<ExportedArray>();
  owned->buffers.push_back(nullptr);
  Give(&offsets, owned.get());
  Give(&data, owned.get());
  Export(std::move(owned), length, 0, out);
}

BatchBuilder::BatchBuilder(const Schema& schema) {
  for (const Field& field : schema.fields) columns_.emplace_back(field.type);
}

void BatchBuilder::ReserveAlike(int64_t rows, size_t bytes_max) {
  for (ColumnBuilder& column : columns_) column.ReserveAlike(rows, bytes_max);
}

OwnedArray BatchBuilder::Finish(int64_t num_rows) {
  auto owned = std::make_unique<ExportedArray>();
  owned->buffers.push_back(nullptr);
  owned->children.resize(columns_.size());
  for (size_t k = 0; k < columns_.size(); ++k) columns_[k].Finish(&owned->children[k]);
  ArrowArray array;
  Export(std::move(owned), num_rows, 0, &array);
  return OwnedArray(&array);
}

}  // namespace flint
