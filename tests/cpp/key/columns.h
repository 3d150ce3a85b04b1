#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"

namespace flint {

// A batch and the arrays it looks at.
struct OwnedBatch {
  OwnedArray array;
  BatchView view;
};

// Builds a batch of `schema` with whatever `fill` appends.
inline OwnedBatch MakeBatch(const Schema& schema, int64_t rows,
                            const std::function<void(BatchBuilder&)>& fill) {
  BatchBuilder builder(schema);
  fill(builder);
  OwnedBatch batch;
  batch.array = builder.Finish(rows);
  batch.view = *BatchView::Make(schema, *batch.array);
  return batch;
}

inline Field MakeField(std::string name, TypeId type, bool nullable = true) {
  return {std::move(name), DataType(type), nullable};
}

}  // namespace flint
