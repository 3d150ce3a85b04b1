// Arrays whose offsets, indices and views are drawn at random: taken in, they can be read to the
// last byte; the sanitizers say whether that is so.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/arrow_column.h"
#include "base/utf8.h"

namespace flint {
namespace {

using Numbers = std::mt19937_64;

constexpr int64_t kRows = 4;
constexpr size_t kDataBytes = 24;

// Buffers of just the size that they need, so that a step outside is seen.
struct Drawn {
  ArrowArray array{};
  std::vector<std::vector<char>> memory;
  std::vector<const void*> buffers;
  std::vector<ArrowArray*> children;
  std::unique_ptr<Drawn> child;

  const char* Add(std::vector<char> bytes) {
    memory.push_back(std::move(bytes));
    buffers.push_back(memory.back().data());
    return memory.back().data();
  }
  void Close(int64_t rows) {
    array.length = rows;
    array.n_buffers = static_cast<int64_t>(buffers.size());
    array.buffers = buffers.data();
    array.n_children = static_cast<int64_t>(children.size());
    array.children = children.data();
  }
};

int64_t Draw(Numbers& numbers, int64_t most) {
  switch (numbers() % 8) {
    case 0:
      return -1 - static_cast<int64_t>(numbers() % 1000);
    case 1:
      return most + static_cast<int64_t>(numbers() % 100000);
    default:
      return static_cast<int64_t>(numbers() % static_cast<uint64_t>(most + 1));
  }
}

template <class T>
std::vector<char> Ascending(Numbers& numbers, int64_t count, int64_t most) {
  std::vector<T> drawn;
  for (int64_t i = 0; i < count; ++i) {
    bool strays = numbers() % 10 == 0;
    T before = drawn.empty() ? T{0} : drawn.back();
    drawn.push_back(strays
                        ? static_cast<T>(Draw(numbers, most))
                        : std::min(static_cast<T>(most), static_cast<T>(before + numbers() % 8)));
  }
  std::vector<char> bytes(drawn.size() * sizeof(T));
  std::memcpy(bytes.data(), drawn.data(), bytes.size());
  return bytes;
}

// Where strings end. Nobody is told how long their bytes are, so the last of all must be right.
template <class T>
std::vector<char> EndsOfStrings(Numbers& numbers) {
  std::vector<char> ends = Ascending<T>(numbers, kRows + 1, kDataBytes);
  char* at = ends.data() + ends.size() - sizeof(T);
  T last;
  std::memcpy(&last, at, sizeof last);
  last = std::min(last, static_cast<T>(kDataBytes));
  std::memcpy(at, &last, sizeof last);
  return ends;
}

std::vector<char> Text(Numbers& numbers) {
  std::vector<char> text(kDataBytes, 'a');
  if (numbers() % 2 == 0) text[numbers() % text.size()] = static_cast<char>(numbers());
  return text;
}

std::vector<char> Views(Numbers& numbers) {
  std::vector<ArrowView> views(kRows);
  for (ArrowView& view : views) {
    view = {static_cast<int32_t>(Draw(numbers, kDataBytes)), {'a', 'b', 'c', 'd'}, 0, 0};
    if (view.size > kArrowViewInlineBytes) {
      view.buffer = numbers() % 4 == 0 ? static_cast<int32_t>(Draw(numbers, 1)) : 0;
      view.offset = static_cast<int32_t>(Draw(numbers, 12));
    } else {
      std::memset(&view.buffer, 'e', 8);
    }
  }
  std::vector<char> bytes(views.size() * sizeof(ArrowView));
  std::memcpy(bytes.data(), views.data(), bytes.size());
  return bytes;
}

std::unique_ptr<Drawn> DrawArray(TypeId id, Numbers& numbers) {
  auto drawn = std::make_unique<Drawn>();
  drawn->buffers.push_back(nullptr);
  if (id == TypeId::kString || id == TypeId::kLargeString) {
    drawn->Add(id == TypeId::kString ? EndsOfStrings<int32_t>(numbers)
                                     : EndsOfStrings<int64_t>(numbers));
    drawn->Add(Text(numbers));
  } else if (id == TypeId::kStringView) {
    drawn->Add(Views(numbers));
    drawn->Add(Text(numbers));
    int64_t size = kDataBytes;
    std::vector<char> sizes(sizeof size);
    std::memcpy(sizes.data(), &size, sizeof size);
    drawn->Add(std::move(sizes));
  } else {
    drawn->child = DrawArray(TypeId::kString, numbers);
    if (id == TypeId::kDictionary) {
      drawn->Add(Ascending<int32_t>(numbers, kRows, kRows - 1));
      drawn->array.dictionary = &drawn->child->array;
    } else {
      drawn->Add(Ascending<int32_t>(numbers, kRows + 1, kRows));
      drawn->children.push_back(&drawn->child->array);
    }
  }
  drawn->Close(kRows);
  return drawn;
}

DataType TypeOf(TypeId id) {
  DataType type(id);
  if (id == TypeId::kList) type.children = {{"item", DataType(TypeId::kString)}};
  if (id == TypeId::kDictionary) {
    type.children = {{"index", DataType(TypeId::kInt32)}, {"value", DataType(TypeId::kString)}};
  }
  return type;
}

void ReadString(const ColumnView& column, int64_t i) {
  ASSERT_TRUE(IsUtf8(std::string(column.Bytes(i))));
}

void ReadAll(const ColumnView& column) {
  for (int64_t i = 0; i < column.size(); ++i) {
    if (!column.type().IsList()) {
      ReadString(column, i);
      continue;
    }
    auto [from, to] = column.ListRange(i);
    for (; from < to; ++from) ReadString(column.child(0), from);
  }
}

TEST(ArrowFuzz, WhatIsTakenInCanBeReadToItsEnd) {
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Numbers numbers(seed);
  int taken = 0, refused = 0;
  for (TypeId id : {TypeId::kString, TypeId::kLargeString, TypeId::kStringView, TypeId::kList,
                    TypeId::kDictionary}) {
    for (int round = 0; round < 2000; ++round) {
      std::unique_ptr<Drawn> drawn = DrawArray(id, numbers);
      Result<ColumnView> column = ColumnView::Make(TypeOf(id), drawn->array);
      ++(column.ok() ? taken : refused);
      if (column.ok()) ReadAll(*column);
    }
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace flint
