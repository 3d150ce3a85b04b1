#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "key/key_schema.h"
#include "row/row_schema.h"
#include "state/change_log.h"
#include "state/state_descriptor.h"

namespace flint {

// What the changes of one state are like, by docs/format/state.md. A segment whose checksums are
// right may still hold what no backend writes, and what is replayed stays: so each change is looked
// at before it is written. One thread at a time.
class RowShape {
 public:
  // `key` is the backend's, canonical, and must outlive the shape. Corruption where no state can be
  // as the descriptor says.
  static Result<RowShape> Make(const KeySchema& key, int max_parallelism,
                               const StateDescriptor& state);

  // Corruption, with what is wrong: an operation that this kind of state has not, a row key whose
  // parts don't fit the types or whose key group is another than the record's or the key's, an
  // element number from `next_element` on, a value that is no row of the state's type. What is
  // nested in a value is checked where it is read.
  Status Check(const Change& change, uint64_t next_element);

 private:
  RowShape(const KeySchema& key, int max_parallelism, StateKind kind)
      : key_(&key), max_parallelism_(max_parallelism), kind_(kind) {}

  Status MakeParts(const StateDescriptor& state);
  Status CheckOperation(ChangeKind operation) const;
  Status CheckRange(const Change& change) const;
  Status CheckValue(std::string_view stored) const;
  Status CheckRow(std::string_view row) const;
  bool IsOurOperand(std::string_view bytes) const;
  // Take a row key's parts off its front: group, key and namespace; what follows.
  Status TakeHead(const Change& change, std::string_view* suffix) const;
  Status TakeKnownHead(const Change& change, std::string_view* suffix);
  Status TakeSuffix(std::string_view suffix, uint64_t next_element) const;

  const KeySchema* key_;
  int max_parallelism_;
  StateKind kind_;
  std::optional<KeySchema> space_;
  std::optional<KeySchema> user_key_;
  std::shared_ptr<const RowSchema> rows_;  // null: timers, which have none
  std::string operand_head_;               // of a built-in function; empty: there is none
  std::string head_;                       // the last that was right; of kinds with many rows a key
  uint16_t head_group_ = 0;
};

}  // namespace flint
