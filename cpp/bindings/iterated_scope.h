#pragma once

#include <string>

#include "bindings/pybind.h"
#include "state/ordered_table.h"

namespace flint {

// What an iterator goes through: the part of a state that belongs to the key and namespace at which
// it began, whatever the current ones are later.
class IteratedScope {
 public:
  // Throws Invalid where there is no current key.
  explicit IteratedScope(OrderedTable* rows) : rows_(rows) {
    const StateContext& context = rows->context();
    Check(context.CheckKey());
    key_ = context.key.bytes;
    place_ = {{}, context.key.hash, context.key.group};
    space_ = rows->space();
  }

  // Valid as `OrderedTable::Of` says.
  OrderedScope* Get() const { return Unwrap(rows_->Of({key_, place_.hash, place_.group}, space_)); }

 private:
  OrderedTable* rows_;
  std::string key_;
  StateKey place_;
  std::string space_;
};

}  // namespace flint
