#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arrow_builder.h"
#include "base/arrow_stream.h"
#include "key/key_reader.h"
#include "key/key_schema.h"
#include "row/row_decoder.h"
#include "state/backend.h"

namespace flint {

// All that a state holds, as record batches in the order of its row keys: the key's columns, the
// namespace if the state has one, a map's or sorted state's own key, the value.
class EntrySource : public BatchSource {
 public:
  // `key`: the columns of the backend's keys as they were declared.
  static Result<std::shared_ptr<EntrySource>> Open(Backend* backend, StateTable* table,
                                                   const Schema& key);

  const Schema& schema() const override { return schema_; }
  Result<std::optional<OwnedArray>> Next() override;

 private:
  EntrySource(const Backend& backend, const StateDescriptor& state, const Schema& key,
              std::unique_ptr<OrderedScan> scan);
  Status Prepare(const StateDescriptor& state);
  Status AppendKeys(std::string_view row_key, BatchBuilder* batch);

  KeySchema key_;
  std::optional<KeySchema> space_;
  std::optional<KeySchema> user_key_;
  size_t group_bytes_;
  Schema schema_;
  std::unique_ptr<RowDecoder> values_;
  std::unique_ptr<OrderedScan> scan_;
  bool done_ = false;
};

// The key schema in which a state's rows carry its user key.
Result<KeySchema> UserKeySchema(const StateDescriptor& state);

// The distinct keys that hold something in one namespace of a state, in the order of row keys.
class KeyScan {
 public:
  static Result<KeyScan> Open(Backend* backend, StateTable* table, std::string space);
  // The canonical key; nullopt at the end.
  Result<std::optional<std::string>> Next();

 private:
  KeyScan(const Backend& backend, const StateDescriptor& state, std::string space,
          std::unique_ptr<OrderedScan> scan);

  KeySchema key_;
  size_t space_columns_;
  KeySchema space_schema_;
  size_t group_bytes_;
  std::string space_;
  std::string last_;
  std::unique_ptr<OrderedScan> scan_;
};

}  // namespace flint
