#include "changelog/bytes_column.h"

#include <algorithm>

namespace flint::changelog {
namespace {

template <class Offset>
void SizesBetween(const Offset* offsets, size_t count, size_t* sizes) {
  for (size_t i = 0; i < count; ++i) sizes[i] = static_cast<size_t>(offsets[i + 1] - offsets[i]);
}

template <class Offset>
void AppendBetween(const char* data, const Offset* offsets, size_t count, ArrowBuffer* out) {
  out->Append(data + offsets[0], static_cast<size_t>(offsets[count] - offsets[0]));
}

}  // namespace

void BytesColumn::Sizes(int64_t from, size_t count, size_t* sizes) const {
  if (column_ == nullptr) return static_cast<void>(std::fill_n(sizes, count, size_t{0}));
  switch (column_->type().id) {
    case TypeId::kString:
    case TypeId::kBinary:
      return SizesBetween(column_->Offsets<int32_t>() + from, count, sizes);
    case TypeId::kLargeString:
    case TypeId::kLargeBinary:
      return SizesBetween(column_->Offsets<int64_t>() + from, count, sizes);
    default:
      for (size_t i = 0; i < count; ++i) sizes[i] = column_->Bytes(from++).size();
  }
}

void BytesColumn::AppendTo(ArrowBuffer* out, int64_t from, size_t count) const {
  if (column_ == nullptr || count == 0) return;
  switch (column_->type().id) {
    case TypeId::kString:
    case TypeId::kBinary:
      return AppendBetween(column_->data(), column_->Offsets<int32_t>() + from, count, out);
    case TypeId::kLargeString:
    case TypeId::kLargeBinary:
      return AppendBetween(column_->data(), column_->Offsets<int64_t>() + from, count, out);
    default:
      for (; count > 0; --count) {
        std::string_view bytes = column_->Bytes(from++);
        out->Append(bytes.data(), bytes.size());
      }
  }
}

}  // namespace flint::changelog
