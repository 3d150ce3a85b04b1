#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"

namespace flint::testing {

// Random schemas and batches, and values as text to compare them by.

using Random = std::mt19937_64;

inline int64_t Upto(Random& random, int64_t most) {
  return std::uniform_int_distribution<int64_t>(0, most)(random);
}

// A plain type, nested to `depth` at most.
DataType RandomType(Random& random, int depth);
Schema RandomSchema(Random& random, int columns_max);

// One more value; null now and then, where it may be.
void AppendRandom(Random& random, const Field& field, ColumnBuilder* out);

// A value at any depth, so that two are equal just when their texts are.
std::string Text(const ColumnView& column, int64_t row);

// A batch with its memory.
struct OwnedBatch {
  OwnedArray array;
  BatchView view;

  OwnedBatch(const Schema& schema, OwnedArray owned)
      : array(std::move(owned)), view(*BatchView::Make(schema, *array)) {}
  std::vector<const ColumnView*> Columns() const {
    std::vector<const ColumnView*> columns;
    for (const ColumnView& column : view.columns) columns.push_back(&column);
    return columns;
  }
  std::vector<std::string> Texts() const;  // of each row
};

OwnedBatch RandomBatch(Random& random, const Schema& schema, int64_t rows);

// A field by its Arrow format, for tests that name types: FieldOf("a", TypeId::kInt64).
Field FieldOf(std::string name, TypeId id, bool nullable = true);
Field StructOf(std::string name, std::vector<Field> fields, bool nullable = true);
Field ListOf(std::string name, Field element, bool nullable = true);

}  // namespace flint::testing
