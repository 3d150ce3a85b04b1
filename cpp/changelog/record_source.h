#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_stream.h"
#include "changelog/reader.h"

namespace flint::changelog {

// The records of a Reader as Arrow batches. Small blocks are put together, so that a log that was
// synced after every record does not give batches of one row.
//
//   sequence int64, op uint8, table uint32, key binary, value binary (null for a delete)
//
// and group uint16 where it is asked for.
class RecordSource : public BatchSource {
 public:
  // Columns by name, in the order wanted; none: the five above. Invalid, with the names that there
  // are, where one is unknown or comes twice.
  static Result<std::shared_ptr<RecordSource>> Make(std::unique_ptr<Reader> reader,
                                                    const std::vector<std::string>& columns);

  const Schema& schema() const override { return schema_; }
  Result<std::optional<OwnedArray>> Next() override;

 private:
  enum class Column : uint8_t { kSequence, kOperation, kTable, kKey, kValue, kGroup };
  static const std::vector<Field>& Fields();

  RecordSource(std::unique_ptr<Reader> reader, std::vector<Column> columns, Schema schema);
  void AppendBlock();
  void AppendColumn(Column column, ColumnBuilder& out) const;

  std::unique_ptr<Reader> reader_;
  std::vector<Column> columns_;
  Schema schema_;
  BatchBuilder builder_;
  RecordBlock block_;
  Status error_;  // comes out after the rows that were read before it
};

}  // namespace flint::changelog
