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

  // The scope of the current key and namespace, or of another key. Valid until the next of these
  // calls, and as long as no code of the user's runs. With `now`: after asking what time it is.
  Result<OrderedScope*> Current() {
    FLINT_RETURN_IF_ERROR(context_->CheckKey());
    if (located_epoch_ == context_->key.epoch && context_->HasRoom()) return located_;
    return LocateAnew();
  }
  Result<OrderedScope*> Current(Moment* now) {
    FLINT_RETURN_IF_ERROR(Begin(now));
    return Current();
  }
  Result<OrderedScope*> Of(const StateKey& key) { return Of(key, space_); }
  Result<OrderedScope*> Of(const StateKey& key, std::string_view space);

  // Single rows. Get says false where there is none that a read may see, and refreshes it or, where
  // it has expired, takes it away; `row` lives until the next call.
  Result<bool> Get(OrderedScope* scope, std::string_view suffix, const Moment& now,
                   std::string_view* row);
  Status Put(OrderedScope* scope, std::string_view suffix, std::string_view row, const Moment& now);
  Status Remove(OrderedScope* scope, std::string_view suffix);
  // Adds a row of its own under `prefix` and the next element number, without reading anything.
  Status Append(OrderedScope* scope, std::string_view prefix, std::string_view row,
                const Moment& now);

  // Appends up to `limit` rows, but for those that are stamped with `hidden` or an earlier time;
  // `more` where the range goes on behind them. A look: nothing is refreshed.
  Status Peek(OrderedScope* scope, const SuffixRange& range, size_t limit, int64_t hidden,
              RowBlock* rows, bool* more);
  // All rows that a read may see, refreshed, or taken away where they have expired. `rows` is empty
  // before.
  Status ReadAll(OrderedScope* scope, const Moment& now, RowBlock* rows);
  // The same for the first row of a range and those beside it whose suffixes are the same but for
  // the last `tail` bytes, ascending.
  Status ReadAlike(OrderedScope* scope, const SuffixRange& range, size_t tail, const Moment& now,
                   RowBlock* rows);
  // A look, as Peek is.
  Result<std::unique_ptr<OrderedScan>> Scan(OrderedScope* scope, SuffixRange range, int64_t hidden);
  Status Clear(OrderedScope* scope, const SuffixRange& range = {});

  // Of the current key: appends the rows in the namespace `source`, as they are, to those in
  // `target`, and clears `source`.
  Status MoveElements(std::string_view source, std::string_view target);

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
  Status ReadRows(OrderedScope* scope, const SuffixRange& range, size_t limit, int64_t hidden,
                  RowBlock* rows, bool* more);
  // The row at `suffix`, read if need be; end() where the scope has none in RocksDB or the cache.
  Result<RowOverlay::Place> Find(OrderedScope* scope, std::string_view suffix);
  // What a read that returns a row, a copy of it, does to it.
  Status Touch(OrderedScope* scope, std::string_view suffix, std::string_view stored,
               const Moment& now);
  Status TouchAll(OrderedScope* scope, const RowBlock& rows, const Moment& now);
  Result<int64_t> StampOver(OrderedScope* scope, std::string_view suffix, const Moment& now);
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
  std::string taken_;
};

}  // namespace flint
