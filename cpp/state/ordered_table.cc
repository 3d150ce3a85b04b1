#include "state/ordered_table.h"

#include <string>
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

Result<OrderedScope*> OrderedTable::Of(const StateKey& key, std::string_view space) {
  FLINT_RETURN_IF_ERROR(context_->health);
  FLINT_RETURN_IF_ERROR(context_->MakeRoom());
  return FindOrAdd(key, space);
}

template <class Change>
void OrderedTable::Counted(OrderedScope* scope, Change change) {
  size_t before = scope->entries.memory();
  change(&scope->entries);
  context_->cached_bytes += scope->entries.memory() - before;
}

Result<RowOverlay::Place> OrderedTable::Find(OrderedScope* scope, std::string_view suffix) {
  RowOverlay& entries = scope->entries;
  RowOverlay::Place at = entries.LowerBound(suffix);
  if (at != entries.end() && entries.suffix(at) == suffix) {
    ++metrics_.cache_hits;
    return at;
  }
  if (scope->whole || scope->cleared.Holding(suffix) != nullptr) {
    ++metrics_.cache_hits;
    return entries.end();
  }
  rocksdb::PinnableSlice stored;
  ++metrics_.store_reads;
  suffix_.assign(scope->row_key).append(suffix);
  FLINT_ASSIGN_OR_RETURN(bool there, database().Get(entry_.family, suffix_, &stored));
  metrics_.bytes_read += stored.size();
  Counted(scope,
          [&](RowOverlay* rows) { rows->Insert(at, suffix, View(stored), {there, false, there}); });
  return entries.Find(suffix);
}

Result<bool> OrderedTable::Get(OrderedScope* scope, std::string_view suffix, const Moment& now,
                               std::string_view* row) {
  ++metrics_.reads;
  FLINT_ASSIGN_OR_RETURN(RowOverlay::Place at, Find(scope, suffix));
  const RowOverlay& entries = scope->entries;
  if (at == entries.end() || !entries.flags(at).present) return false;
  std::string_view stored = entries.stored(at);
  if (expiry().ttl().enabled()) {
    if (now.Expired(stored) && !expiry().ttl().return_expired) return false;
    stored = taken_.assign(stored);
    FLINT_RETURN_IF_ERROR(Touch(scope, suffix, stored, now));
  }
  *row = RowOf(stored);
  return true;
}

Status OrderedTable::Touch(OrderedScope* scope, std::string_view suffix, std::string_view stored,
                           const Moment& now) {
  if (now.Expired(stored)) return Remove(scope, suffix);
  int64_t stamp = expiry().ttl().refresh_on_read ? now.StampOver(stored) : kNoTime;
  if (stamp == kNoTime || stamp == StampOrNone(stored)) return {};
  stored_.clear();
  AppendAt(stamp, RowOf(stored), &stored_);
  Set(scope, suffix, stored_, /*in_store=*/true);
  return {};
}

Status OrderedTable::TouchAll(OrderedScope* scope, const RowBlock& rows, const Moment& now) {
  if (!expiry().ttl().enabled()) return {};
  for (size_t i = 0; i < rows.size(); ++i) {
    FLINT_RETURN_IF_ERROR(Touch(scope, rows.suffix(i), rows.stored(i), now));
  }
  return {};
}

Result<int64_t> OrderedTable::StampOver(OrderedScope* scope, std::string_view suffix,
                                        const Moment& now) {
  if (!now.event_time) return now.stamp;
  FLINT_ASSIGN_OR_RETURN(RowOverlay::Place at, Find(scope, suffix));
  if (at == scope->entries.end()) return now.stamp;
  return now.StampOver(scope->entries.stored(at));
}

void OrderedTable::Set(OrderedScope* scope, std::string_view suffix, std::string_view stored,
                       bool in_store) {
  RowOverlay::Place at = scope->entries.LowerBound(suffix);
  bool there = at != scope->entries.end() && scope->entries.suffix(at) == suffix;
  Counted(scope, [&](RowOverlay* rows) {
    if (there)
      rows->Set(at, stored, {true, true, rows->flags(at).in_store});
    else
      rows->Insert(at, suffix, stored, {true, true, in_store});
  });
  MarkDirty(scope);
}

Status OrderedTable::Put(OrderedScope* scope, std::string_view suffix, std::string_view row,
                         const Moment& now) {
  FLINT_RETURN_IF_ERROR(CheckSize(scope->row_key.size() + suffix.size(), row.size()));
  FLINT_RETURN_IF_ERROR(CheckDated(now));
  FLINT_ASSIGN_OR_RETURN(int64_t stamp, StampOver(scope, suffix, now));
  ++metrics_.writes;
  stored_.clear();
  AppendAt(stamp, row, &stored_);
  Set(scope, suffix, stored_, !scope->whole && scope->cleared.Holding(suffix) == nullptr);
  return {};
}

Status OrderedTable::Remove(OrderedScope* scope, std::string_view suffix) {
  ++metrics_.writes;
  RowOverlay::Place at = scope->entries.LowerBound(suffix);
  bool there = at != scope->entries.end() && scope->entries.suffix(at) == suffix;
  if (!there && (scope->whole || scope->cleared.Holding(suffix) != nullptr)) return {};
  Counted(scope, [&](RowOverlay* rows) {
    if (!there)
      rows->Insert(at, suffix, {}, {false, true, true});
    else if (rows->flags(at).in_store)
      rows->Set(at, {}, {false, true, true});
    else
      rows->Erase(at);
  });
  MarkDirty(scope);
  return {};
}

Status OrderedTable::Append(OrderedScope* scope, std::string_view prefix, std::string_view row,
                            const Moment& now) {
  FLINT_RETURN_IF_ERROR(
      CheckSize(scope->row_key.size() + prefix.size() + kElementBytes, row.size()));
  FLINT_RETURN_IF_ERROR(CheckDated(now));
  ++metrics_.writes;
  stored_.clear();
  AppendAt(now.stamp, row, &stored_);
  return AppendStored(scope, prefix, stored_);
}

Status OrderedTable::AppendStored(OrderedScope* scope, std::string_view prefix,
                                  std::string_view stored) {
  suffix_.assign(prefix);
  AppendBigEndian(context_->next_element++, &suffix_);
  Set(scope, suffix_, stored, /*in_store=*/false);
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
  RowBlock rows;
  size_t bytes = 0;
  const RowOverlay nothing;
  SuffixRange all;
  ScopeReader reader(scope->row_key, nothing, scope->cleared, store, all);
  for (; reader.Valid(); reader.Next()) {
    rows.Append(reader.suffix(), reader.stored());
    bytes += reader.suffix().size() + reader.stored().size();
    if (rows.size() > kWholeRowsMax || bytes > kWholeBytesMax) {
      scope->large = true;
      return {};
    }
  }
  FLINT_RETURN_IF_ERROR(cursor_->status());
  Counted(scope, [&](RowOverlay* entries) {
    for (size_t i = 0; i < rows.size(); ++i) {
      metrics_.bytes_read += rows.stored(i).size();
      RowOverlay::Place at = entries->LowerBound(rows.suffix(i));
      if (at != entries->end() && entries->suffix(at) == rows.suffix(i)) continue;
      entries->Insert(at, rows.suffix(i), rows.stored(i), {true, false, true});
    }
  });
  scope->whole = true;
  return {};
}

Status OrderedTable::Peek(OrderedScope* scope, const SuffixRange& range, size_t limit,
                          int64_t hidden, RowBlock* rows, bool* more) {
  ++metrics_.reads;
  FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
  FLINT_RETURN_IF_ERROR(TryToMakeWhole(scope));
  return ReadRows(scope, range, limit, hidden, rows, more);
}

Status OrderedTable::ReadAll(OrderedScope* scope, const Moment& now, RowBlock* rows) {
  bool more = false;
  FLINT_RETURN_IF_ERROR(Peek(scope, {}, SIZE_MAX, expiry().HiddenAt(now), rows, &more));
  return TouchAll(scope, *rows, now);
}

Status OrderedTable::ReadRows(OrderedScope* scope, const SuffixRange& range, size_t limit,
                              int64_t hidden, RowBlock* rows, bool* more) {
  FLINT_ASSIGN_OR_RETURN(rocksdb::Iterator * store, StoreOf(*scope));
  ScopeReader reader(scope->row_key, scope->entries, scope->cleared, store, range);
  *more = false;
  for (size_t count = 0; reader.Valid(); reader.Next()) {
    if (IsStamped(reader.stored()) && StampOf(reader.stored()) <= hidden) continue;
    if (count++ == limit) {
      *more = true;
      return {};
    }
    rows->Append(reader.suffix(), reader.stored());
  }
  return store == nullptr ? Status() : cursor_->status();
}

Status OrderedTable::ReadAlike(OrderedScope* scope, const SuffixRange& range, size_t tail,
                               const Moment& now, RowBlock* rows) {
  ++metrics_.reads;
  FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
  FLINT_RETURN_IF_ERROR(TryToMakeWhole(scope));
  FLINT_ASSIGN_OR_RETURN(rocksdb::Iterator * store, StoreOf(*scope));
  auto key = [tail](std::string_view suffix) { return suffix.substr(0, suffix.size() - tail); };
  int64_t hidden = expiry().HiddenAt(now);
  ScopeReader reader(scope->row_key, scope->entries, scope->cleared, store, range);
  for (; reader.Valid(); reader.Next()) {
    if (IsStamped(reader.stored()) && StampOf(reader.stored()) <= hidden) continue;
    if (!rows->empty() && key(reader.suffix()) != key(rows->suffix(0))) break;
    rows->Append(reader.suffix(), reader.stored());
  }
  if (store != nullptr) FLINT_RETURN_IF_ERROR(cursor_->status());
  if (range.reverse) rows->Reverse();
  return TouchAll(scope, *rows, now);
}

Result<std::unique_ptr<Cursor>> OrderedTable::TakeCursor() {
  if (spare_->empty()) return database().NewCursor(entry_.family, {});
  std::unique_ptr<Cursor> cursor = std::move(spare_->back());
  spare_->pop_back();
  return cursor;
}

Result<std::unique_ptr<OrderedScan>> OrderedTable::Scan(OrderedScope* scope, SuffixRange range,
                                                        int64_t hidden) {
  ++metrics_.reads;
  FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
  FLINT_RETURN_IF_ERROR(TryToMakeWhole(scope));
  bool empty = range.to && *range.to <= range.from;
  RowOverlay::Place from = scope->entries.LowerBound(range.from);
  RowOverlay::Place to = range.to ? scope->entries.LowerBound(*range.to) : scope->entries.end();
  RowOverlay entries = scope->entries.Share(from, empty ? from : to);
  std::unique_ptr<Cursor> cursor;
  if (!scope->whole) {
    ++metrics_.store_reads;
    FLINT_ASSIGN_OR_RETURN(cursor, TakeCursor());
  }
  SuffixRanges cleared = scope->whole ? SuffixRanges() : scope->cleared;
  auto scan =
      std::make_unique<OrderedScan>(context_->database, hidden, scope->row_key, std::move(range),
                                    std::move(entries), std::move(cleared), std::move(cursor));
  scan->GiveBackTo(spare_);
  return scan;
}

Result<std::unique_ptr<OrderedScan>> OrderedTable::ScanAll() {
  FLINT_ASSIGN_OR_RETURN(Moment now, BeginMany());
  SortByRowKey(&dirty_);
  RowOverlay changed;
  SuffixRanges cleared;
  for (const OrderedScope* scope : dirty_) {
    for (const auto& [from, to] : scope->cleared.all()) {
      cleared.Add(scope->row_key + from,
                  to ? scope->row_key + *to : PrefixSuccessor(scope->row_key));
    }
    const RowOverlay& entries = scope->entries;
    for (auto at = entries.begin(); at != entries.end(); at = entries.Next(at)) {
      if (!entries.flags(at).dirty) continue;
      suffix_.assign(scope->row_key).append(entries.suffix(at));
      changed.Append(suffix_, entries.stored(at), entries.flags(at));
    }
  }
  FLINT_ASSIGN_OR_RETURN(auto cursor, database().NewCursor(entry_.family, {}));
  return std::make_unique<OrderedScan>(context_->database, now.horizon, "", SuffixRange(),
                                       std::move(changed), std::move(cleared), std::move(cursor));
}

Status OrderedTable::Clear(OrderedScope* scope, const SuffixRange& range) {
  ++metrics_.writes;
  if (range.to && *range.to <= range.from) return {};
  RowOverlay& entries = scope->entries;
  RowOverlay::Place begin = entries.LowerBound(range.from);
  RowOverlay::Place end = range.to ? entries.LowerBound(*range.to) : entries.end();
  // Few rows of RocksDB that are all known: they are deleted one by one.
  bool one_by_one = scope->whole;
  std::vector<std::string> stored;
  for (auto at = begin; one_by_one && at != end; at = entries.Next(at)) {
    if (entries.flags(at).in_store) stored.emplace_back(entries.suffix(at));
    one_by_one = stored.size() <= kPointDeletesMax;
  }
  Counted(scope, [&](RowOverlay* rows) {
    rows->Erase(begin, end);
    if (!one_by_one) return;
    for (const std::string& suffix : stored) {
      rows->Insert(rows->LowerBound(suffix), suffix, {}, {false, true, true});
    }
  });
  if (!one_by_one) scope->cleared.Add(range.from, range.to);
  if (range.from.empty() && !range.to) scope->whole = true;
  MarkDirty(scope);
  return {};
}

Status OrderedTable::MoveElements(std::string_view source, std::string_view target) {
  FLINT_RETURN_IF_ERROR(context_->CheckKey());
  if (source == target) return {};
  OrderedScope* from = FindOrAdd(context_->key.view(), source);
  OrderedScope* to = FindOrAdd(context_->key.view(), target);
  SuffixRange range;
  bool more = true;
  while (more) {
    RowBlock rows;
    FLINT_ASSIGN_OR_RETURN(auto pin, database().Enter());
    FLINT_RETURN_IF_ERROR(ReadRows(from, range, kKeptRowsMax, kNoTime, &rows, &more));
    for (size_t i = 0; i < rows.size(); ++i) {
      FLINT_RETURN_IF_ERROR(AppendStored(to, {}, rows.stored(i)));
    }
    if (more) range.from = rows.Behind();
  }
  return Clear(from);
}

Status OrderedTable::Drain(ChangeBatch* changes) {
  if (dirty_.empty()) return {};
  SortByRowKey(&dirty_);
  size_t before = changes->size();
  changes->Enter(entry_.id, entry_.family);
  for (OrderedScope* scope : dirty_) FLINT_RETURN_IF_ERROR(DrainScope(scope, changes));
  dirty_.clear();
  DropCursors();
  metrics_.bytes_written += changes->size() - before;
  return {};
}

Status OrderedTable::DrainScope(OrderedScope* scope, ChangeBatch* changes) {
  FLINT_RETURN_IF_ERROR(DrainCleared(scope, changes));
  std::string row_key = scope->row_key;
  Counted(scope, [&](RowOverlay* rows) {
    rows->Drain([&](std::string_view suffix, std::string_view stored, RowFlags flags) {
      row_key.resize(scope->row_key.size());
      row_key.append(suffix);
      if (flags.present)
        changes->Put(row_key, stored);
      else if (flags.in_store)
        changes->Delete(row_key);
    });
  });
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
  Counted(scope, [](RowOverlay* rows) { rows->Clear(); });
  scope->whole = false;
  scope->large = true;
}

void OrderedTable::Forget() {
  scopes_.Clear();
  dirty_.clear();
  located_ = nullptr;
  located_epoch_ = 0;
  DropCursors();
}

// Scans under way keep theirs, and give them back to nobody.
void OrderedTable::DropCursors() {
  cursor_.reset();
  spare_ = std::make_shared<SpareCursors>();
}

}  // namespace flint
