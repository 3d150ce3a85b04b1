#include "state/ordered_table.h"

#include <limits>
#include <utility>

#include "key/key_schema.h"
#include "state/row_order.h"

namespace flint {
namespace {

// A scope with up to so many rows, of so many bytes, in RocksDB is read as a whole.
constexpr size_t kWholeRowsMax = 64;
constexpr size_t kWholeBytesMax = 16u << 10;
// One that has grown past this is not kept whole when it is drained.
constexpr size_t kKeptRowsMax = 4096;
// Up to so many rows are deleted one by one; more of them as a range, each of which costs every
// later reader of the memtable (docs/decisions/0031).
constexpr size_t kPointDeletesMax = 32;
constexpr size_t kRowCost = sizeof(OrderedEntries::value_type) + 48;

size_t CostOf(std::string_view suffix, std::string_view stored) {
  return kRowCost + (suffix.size() > 15 ? suffix.size() : 0) + stored.size();
}

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace

OrderedScope* OrderedTable::FindOrAdd(const StateKey& key, std::string_view space) {
  auto [scope, added] = scopes_.FindOrAdd(key, space);
  if (added) context_->cached_bytes += scopes_.kEntryCost + scope->row_key.size();
  return scope;
}

Result<OrderedScope*> OrderedTable::LocateAnew() {
  FLINT_RETURN_IF_ERROR(context_->MakeRoom());
  located_ = FindOrAdd(context_->key.view(), space_);
  located_epoch_ = context_->key.epoch;
  return located_;
}

Result<OrderedScope*> OrderedTable::InSpace(std::string_view space) {
  FLINT_RETURN_IF_ERROR(context_->CheckKey());
  return FindOrAdd(context_->key.view(), space);
}

Result<OrderedScope*> OrderedTable::Of(const StateKey& key, std::string_view space) {
  FLINT_RETURN_IF_ERROR(context_->health);
  FLINT_RETURN_IF_ERROR(context_->MakeRoom());
  return FindOrAdd(key, space);
}

Result<bool> OrderedTable::Get(OrderedScope* scope, std::string_view suffix,
                               std::string_view* row) {
  ++metrics_.reads;
  auto found = scope->entries.find(suffix);
  if (found == scope->entries.end()) {
    if (scope->whole || scope->cleared.Holding(suffix) != nullptr) {
      ++metrics_.cache_hits;
      return false;
    }
    rocksdb::PinnableSlice stored;
    ++metrics_.store_reads;
    FLINT_ASSIGN_OR_RETURN(
        bool there, database().Get(entry_.family, scope->row_key + std::string(suffix), &stored));
    OrderedEntry entry{stored.ToString(), there, false, there};
    context_->cached_bytes += CostOf(suffix, entry.stored);
    metrics_.bytes_read += entry.stored.size();
    found = scope->entries.emplace(std::string(suffix), std::move(entry)).first;
  } else {
    ++metrics_.cache_hits;
  }
  if (!found->second.present || !expiry().Visible(found->second.stored)) return false;
  *row = RowOf(found->second.stored);
  if (expiry().NeedsRefresh(found->second.stored)) {
    FLINT_RETURN_IF_ERROR(Put(scope, suffix, std::string(*row)));
    *row = RowOf(found->second.stored);
  }
  return true;
}

void OrderedTable::Set(OrderedScope* scope, std::string_view suffix, std::string stored,
                       bool in_store) {
  auto at = scope->entries.lower_bound(suffix);
  if (at == scope->entries.end() || at->first != suffix) {
    at = scope->entries.emplace_hint(at, std::string(suffix), OrderedEntry());
    at->second.in_store = in_store;
    context_->cached_bytes += CostOf(suffix, {});
  }
  OrderedEntry& entry = at->second;
  context_->cached_bytes += stored.size() - entry.stored.size();
  entry.stored = std::move(stored);
  entry.present = true;
  entry.dirty = true;
  MarkDirty(scope);
}

Status OrderedTable::Put(OrderedScope* scope, std::string_view suffix, std::string_view row) {
  ++metrics_.writes;
  std::string stored;
  expiry().Append(row, &stored);
  Set(scope, suffix, std::move(stored), !scope->whole && scope->cleared.Holding(suffix) == nullptr);
  return {};
}

Status OrderedTable::Remove(OrderedScope* scope, std::string_view suffix) {
  ++metrics_.writes;
  auto at = scope->entries.find(suffix);
  if (at == scope->entries.end()) {
    if (scope->whole || scope->cleared.Holding(suffix) != nullptr) return {};
    at = scope->entries.emplace(std::string(suffix), OrderedEntry()).first;
    context_->cached_bytes += CostOf(suffix, {});
  }
  OrderedEntry& entry = at->second;
  context_->cached_bytes -= entry.stored.size();
  if (entry.in_store) {
    entry.stored.clear();
    entry.present = false;
    entry.dirty = true;
  } else {
    context_->cached_bytes -= CostOf(suffix, {});
    scope->entries.erase(at);
  }
  MarkDirty(scope);
  return {};
}

Status OrderedTable::Append(OrderedScope* scope, std::string_view prefix, std::string_view row) {
  ++metrics_.writes;
  std::string stored;
  expiry().Append(row, &stored);
  return AppendStored(scope, prefix, std::move(stored));
}

Status OrderedTable::AppendStored(OrderedScope* scope, std::string_view prefix,
                                  std::string stored) {
  std::string suffix(prefix);
  AppendBigEndian(context_->next_element++, &suffix);
  Set(scope, suffix, std::move(stored), /*in_store=*/false);
  return {};
}

void OrderedTable::MarkDirty(OrderedScope* scope) {
  if (scope->dirty) return;
  scope->dirty = true;
  dirty_.push_back(scope);
}

Result<rocksdb::Iterator*> OrderedTable::StoreOf(const OrderedScope& scope) {
  if (scope.whole) {
    ++metrics_.cache_hits;
    return nullptr;
  }
  ++metrics_.store_reads;
  if (cursor_ == nullptr) {
    FLINT_ASSIGN_OR_RETURN(cursor_, database().NewCursor(entry_.family, {}));
  }
  return cursor_->iterator();
}

Status OrderedTable::TryToMakeWhole(OrderedScope* scope) {
  if (scope->whole || scope->large) return {};
  FLINT_ASSIGN_OR_RETURN(rocksdb::Iterator * store, StoreOf(*scope));
  std::vector<OrderedRow> rows;
  size_t bytes = 0;
  const OrderedEntries nothing;
  SuffixRange all;
  ScopeReader reader(scope->row_key, nothing, scope->cleared, store, all);
  for (; reader.Valid(); reader.Next()) {
    rows.push_back({std::string(reader.suffix()), std::string(reader.stored())});
    bytes += CostOf(rows.back().suffix, rows.back().stored);
    if (rows.size() > kWholeRowsMax || bytes > kWholeBytesMax) {
      scope->large = true;
      return {};
    }
  }
  FLINT_RETURN_IF_ERROR(cursor_->status());
  for (OrderedRow& row : rows) {
    metrics_.bytes_read += row.stored.size();
    OrderedEntry entry{std::move(row.stored), true, false, true};
    scope->entries.emplace(std::move(row.suffix), std::move(entry));
  }
  context_->cached_bytes += bytes;
  scope->whole = true;
  return {};
}

Status OrderedTable::Read(OrderedScope* scope, const SuffixRange& range, size_t limit,
                          std::vector<OrderedRow>* rows, bool* more) {
  ++metrics_.reads;
  FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
  FLINT_RETURN_IF_ERROR(TryToMakeWhole(scope));
  size_t first = rows->size();
  FLINT_RETURN_IF_ERROR(ReadRows(scope, range, limit, rows, more));
  if (!expiry().ttl().refresh_on_read) return {};
  for (size_t i = first; i < rows->size(); ++i) {
    if (!expiry().NeedsRefresh((*rows)[i].stored)) continue;
    std::string row(RowOf((*rows)[i].stored));
    FLINT_RETURN_IF_ERROR(Put(scope, (*rows)[i].suffix, row));
  }
  return {};
}

Status OrderedTable::ReadRows(OrderedScope* scope, const SuffixRange& range, size_t limit,
                              std::vector<OrderedRow>* rows, bool* more) {
  FLINT_ASSIGN_OR_RETURN(rocksdb::Iterator * store, StoreOf(*scope));
  ScopeReader reader(scope->row_key, scope->entries, scope->cleared, store, range);
  *more = false;
  for (size_t count = 0; reader.Valid(); reader.Next()) {
    if (!expiry().Visible(reader.stored())) continue;
    if (count++ == limit) {
      *more = true;
      return {};
    }
    rows->push_back({std::string(reader.suffix()), std::string(reader.stored())});
  }
  return store == nullptr ? Status() : cursor_->status();
}

Result<std::unique_ptr<OrderedScan>> OrderedTable::Scan(OrderedScope* scope, SuffixRange range) {
  ++metrics_.reads;
  FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
  FLINT_RETURN_IF_ERROR(TryToMakeWhole(scope));
  OrderedEntries entries;
  auto end = range.to ? scope->entries.lower_bound(*range.to) : scope->entries.end();
  bool empty = range.to && *range.to <= range.from;
  auto at = empty ? end : scope->entries.lower_bound(range.from);
  for (; at != end; ++at) entries.emplace_hint(entries.end(), *at);
  std::unique_ptr<Cursor> cursor;
  if (!scope->whole) {
    ++metrics_.store_reads;
    FLINT_ASSIGN_OR_RETURN(cursor, database().NewCursor(entry_.family, {}));
  }
  SuffixRanges cleared = scope->whole ? SuffixRanges() : scope->cleared;
  return std::make_unique<OrderedScan>(context_->database, *entry_.expiry, scope->row_key,
                                       std::move(range), std::move(entries), std::move(cleared),
                                       std::move(cursor));
}

Result<std::unique_ptr<OrderedScan>> OrderedTable::ScanAll() {
  FLINT_RETURN_IF_ERROR(context_->health);
  OrderedEntries changed;
  SuffixRanges cleared;
  for (const OrderedScope* scope : dirty_) {
    for (const auto& [from, to] : scope->cleared.all()) {
      cleared.Add(scope->row_key + from,
                  to ? scope->row_key + *to : PrefixSuccessor(scope->row_key));
    }
    for (const auto& [suffix, entry] : scope->entries) {
      if (entry.dirty) changed.emplace(scope->row_key + suffix, entry);
    }
  }
  FLINT_ASSIGN_OR_RETURN(auto cursor, database().NewCursor(entry_.family, {}));
  return std::make_unique<OrderedScan>(context_->database, *entry_.expiry, "", SuffixRange(),
                                       std::move(changed), std::move(cleared), std::move(cursor));
}

Status OrderedTable::Clear(OrderedScope* scope, const SuffixRange& range) {
  ++metrics_.writes;
  auto begin = scope->entries.lower_bound(range.from);
  auto end = range.to ? scope->entries.lower_bound(*range.to) : scope->entries.end();
  if (range.to && *range.to <= range.from) return {};
  size_t in_store = 0;
  for (auto at = begin; at != end; ++at) in_store += at->second.in_store ? 1 : 0;
  bool one_by_one = scope->whole && in_store <= kPointDeletesMax;
  for (auto at = begin; at != end;) {
    context_->cached_bytes -= at->second.stored.size();
    if (one_by_one && at->second.in_store) {
      at->second = {std::string(), false, true, true};
      ++at;
    } else {
      context_->cached_bytes -= CostOf(at->first, {});
      at = scope->entries.erase(at);
    }
  }
  if (!one_by_one) scope->cleared.Add(range.from, range.to);
  if (range.from.empty() && !range.to) scope->whole = true;
  MarkDirty(scope);
  return {};
}

Status OrderedTable::MoveElements(OrderedScope* source, OrderedScope* target) {
  if (source == target) return {};
  SuffixRange range;
  bool more = true;
  while (more) {
    std::vector<OrderedRow> rows;
    FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
    FLINT_RETURN_IF_ERROR(ReadRows(source, range, kKeptRowsMax, &rows, &more));
    for (OrderedRow& row : rows) {
      range.from = row.suffix + '\0';
      FLINT_RETURN_IF_ERROR(AppendStored(target, {}, std::move(row.stored)));
    }
  }
  return Clear(source);
}

Status OrderedTable::Drain(ChangeBatch* changes) {
  if (dirty_.empty()) return {};
  SortByRowKey(&dirty_);
  size_t before = changes->size();
  changes->Enter(entry_.id, entry_.family);
  for (OrderedScope* scope : dirty_) FLINT_RETURN_IF_ERROR(DrainScope(scope, changes));
  dirty_.clear();
  cursor_.reset();
  metrics_.bytes_written += changes->size() - before;
  return {};
}

Status OrderedTable::DrainScope(OrderedScope* scope, ChangeBatch* changes) {
  FLINT_RETURN_IF_ERROR(DrainCleared(scope, changes));
  std::string row_key = scope->row_key;
  for (auto at = scope->entries.begin(); at != scope->entries.end();) {
    OrderedEntry& entry = at->second;
    bool dirty = std::exchange(entry.dirty, false);
    row_key.replace(scope->row_key.size(), std::string::npos, at->first);
    if (dirty && entry.present) {
      changes->Put(row_key, entry.stored);
    } else if (dirty && entry.in_store) {
      changes->Delete(row_key);
    }
    if (entry.present) {
      entry.in_store = true;
      ++at;
    } else {
      context_->cached_bytes -= CostOf(at->first, {});
      at = scope->entries.erase(at);
    }
  }
  scope->dirty = false;
  Settle(scope);
  return {};
}

// Where few rows are there they are deleted one by one, else the whole range is.
Status OrderedTable::DrainCleared(OrderedScope* scope, ChangeBatch* changes) {
  if (scope->cleared.empty()) return {};
  FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
  if (cursor_ == nullptr) {
    FLINT_ASSIGN_OR_RETURN(cursor_, database().NewCursor(entry_.family, {}));
  }
  rocksdb::Iterator* store = cursor_->iterator();
  for (const auto& [from, to] : scope->cleared.all()) {
    std::string begin = scope->row_key + from;
    std::string end = to ? scope->row_key + *to : PrefixSuccessor(scope->row_key).value_or("");
    std::vector<std::string> few;
    for (store->Seek(begin);
         store->Valid() && View(store->key()) < end && few.size() <= kPointDeletesMax;
         store->Next()) {
      few.push_back(store->key().ToString());
    }
    FLINT_RETURN_IF_ERROR(cursor_->status());
    if (few.size() > kPointDeletesMax)
      changes->DeleteRange(begin, end);
    else
      for (const std::string& row_key : few) changes->Delete(row_key);
  }
  scope->cleared.clear();
  return {};
}

// What a drained scope keeps of its rows: all, or, where they are many, none.
void OrderedTable::Settle(OrderedScope* scope) {
  if (scope->entries.size() <= kKeptRowsMax && (scope->whole || !scope->large)) return;
  for (const auto& [suffix, entry] : scope->entries) {
    context_->cached_bytes -= CostOf(suffix, entry.stored);
  }
  scope->entries.clear();
  scope->whole = false;
  scope->large = true;
}

void OrderedTable::Forget() {
  scopes_.Clear();
  dirty_.clear();
  located_ = nullptr;
  located_epoch_ = 0;
  cursor_.reset();
}

}  // namespace flint
