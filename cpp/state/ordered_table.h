#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "state/keyed_cache.h"
#include "state/ordered_scope.h"
#include "state/row_block.h"
#include "state/scope_reader.h"
#include "state/state_table.h"

namespace flint {

// A state that has many rows for each (key, namespace), in the order of what follows that in their
// row keys: list state (the element's number), map state (the entry's key), sorted state (the key
// and the element's number), timers. Values are rows (docs/format/row.md); time to live is taken
// care of here. A scope that fits is read as a whole once, and then answered from the cache.
class OrderedTable : public StateTable {
 public:
  OrderedTable(std::shared_ptr<StateContext> context, const StateEntry& entry)
      : StateTable(std::move(context), entry), scopes_(context_->group_bytes) {}

  // The scope of the current key and namespace, of another namespace, or of another key. Valid
  // until the next of these calls.
  Result<OrderedScope*> Current() {
    FLINT_RETURN_IF_ERROR(context_->CheckKey());
    if (located_epoch_ == context_->key.epoch && context_->HasRoom()) return located_;
    return LocateAnew();
  }
  Result<OrderedScope*> InSpace(std::string_view space);
  Result<OrderedScope*> Of(const StateKey& key) { return Of(key, space_); }
  Result<OrderedScope*> Of(const StateKey& key, std::string_view space);

  // Single rows. Get says false where there is none; `row` lives until the next call.
  Result<bool> Get(OrderedScope* scope, std::string_view suffix, std::string_view* row);
  Status Put(OrderedScope* scope, std::string_view suffix, std::string_view row);
  Status Remove(OrderedScope* scope, std::string_view suffix);
  // Adds a row of its own under `prefix` and the next element number, without reading anything.
  Status Append(OrderedScope* scope, std::string_view prefix, std::string_view row);

  // Appends up to `limit` rows; `more` where the range goes on behind them.
  Status Read(OrderedScope* scope, const SuffixRange& range, size_t limit, RowBlock* rows,
              bool* more);
  // The first row of the range and those beside it whose suffixes are the same but for the last
  // `tail` bytes, ascending. `rows` is empty before.
  Status ReadAlike(OrderedScope* scope, const SuffixRange& range, size_t tail, RowBlock* rows);
  Result<std::unique_ptr<OrderedScan>> Scan(OrderedScope* scope, SuffixRange range);
  Status Clear(OrderedScope* scope, const SuffixRange& range = {});

  // Appends the rows of `source`, as they are, to `target`, and clears `source`.
  Status MoveElements(OrderedScope* source, OrderedScope* target);

  Status Drain(ChangeBatch* changes) override;
  Result<std::unique_ptr<OrderedScan>> ScanAll() override;
  void Forget() override;

 private:
  Result<OrderedScope*> LocateAnew();
  OrderedScope* FindOrAdd(const StateKey& key, std::string_view space);
  Status AppendStored(OrderedScope* scope, std::string_view prefix, std::string_view stored);
  // `stored` does not lie in the scope.
  void Set(OrderedScope* scope, std::string_view suffix, std::string_view stored, bool in_store);
  // The iterator over RocksDB for this scope; null where it has nothing to say.
  Result<rocksdb::Iterator*> StoreOf(const OrderedScope& scope);
  Status TryToMakeWhole(OrderedScope* scope);
  Status ReadRows(OrderedScope* scope, const SuffixRange& range, size_t limit, RowBlock* rows,
                  bool* more);
  Status RefreshRows(OrderedScope* scope, const RowBlock& rows, size_t first);
  // Changes the scope's entries, and what is counted of them.
  template <class Change>
  void Counted(OrderedScope* scope, Change change);
  Result<std::unique_ptr<Cursor>> TakeCursor();
  void DropCursors();
  void MarkDirty(OrderedScope* scope);
  Status DrainScope(OrderedScope* scope, ChangeBatch* changes);
  Status DrainCleared(OrderedScope* scope, ChangeBatch* changes);
  void Settle(OrderedScope* scope);

  KeyedCache<OrderedScope> scopes_;
  std::vector<OrderedScope*> dirty_;
  OrderedScope* located_ = nullptr;
  // Over RocksDB as it has been since the last drain.
  std::unique_ptr<Cursor> cursor_;
  std::shared_ptr<SpareCursors> spare_ = std::make_shared<SpareCursors>();
  // Reused from call to call.
  std::string suffix_;
  std::string stored_;
};

}  // namespace flint
