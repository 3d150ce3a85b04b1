#include "state/point_table.h"

#include <algorithm>

#include "state/reducer.h"
#include "state/row_order.h"

namespace flint {
namespace {

constexpr size_t kMultiGetMax = 1024;

}  // namespace

Status PointTable::LocateAnew() {
  FLINT_RETURN_IF_ERROR(context_->MakeRoom());
  located_ = FindOrAdd(context_->key.view(), space_);
  located_epoch_ = context_->key.epoch;
  return {};
}

PointEntry* PointTable::FindOrAdd(const StateKey& key, std::string_view space) {
  auto [entry, added] = entries_.FindOrAdd(key, space);
  if (added) context_->cached_bytes += entries_.kEntryCost + entry->row_key.size();
  return entry;
}

Status PointTable::Load(PointEntry* entry) {
  if (entry->knowledge != PointEntry::Knowledge::kUnknown &&
      entry->knowledge != PointEntry::Knowledge::kOperand) {
    ++metrics_.cache_hits;
    return {};
  }
  rocksdb::PinnableSlice stored;
  ++metrics_.store_reads;
  FLINT_ASSIGN_OR_RETURN(bool found, database().Get(entry_.family, entry->row_key, &stored));
  SetLoaded(entry, found, {stored.data(), stored.size()});
  return {};
}

void PointTable::SetLoaded(PointEntry* entry, bool found, std::string_view stored) {
  using Knowledge = PointEntry::Knowledge;
  metrics_.bytes_read += stored.size();
  context_->cached_bytes -= entry->stored.size();
  if (entry->knowledge == Knowledge::kOperand) {
    if (found)
      entry->stored = MergeStored(stored, entry->stored);
    else
      entry->stored = MergeStored({}, entry->stored);
    entry->knowledge = Knowledge::kPresent;
  } else {
    entry->in_store = found;
    entry->knowledge = found ? Knowledge::kPresent : Knowledge::kAbsent;
    entry->stored.assign(stored);
  }
  context_->cached_bytes += entry->stored.size();
}

Status PointTable::LoadMany(std::vector<PointEntry*> entries) {
  std::erase_if(entries, [](const PointEntry* entry) {
    return entry->knowledge == PointEntry::Knowledge::kAbsent ||
           entry->knowledge == PointEntry::Knowledge::kPresent;
  });
  SortByRowKey(&entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  metrics_.store_reads += entries.size();
  std::vector<rocksdb::Slice> keys;
  std::vector<rocksdb::PinnableSlice> values(std::min(entries.size(), kMultiGetMax));
  std::vector<rocksdb::Status> statuses(values.size());
  for (size_t begin = 0; begin < entries.size(); begin += kMultiGetMax) {
    size_t count = std::min(kMultiGetMax, entries.size() - begin);
    keys.clear();
    for (size_t i = 0; i < count; ++i) keys.emplace_back(entries[begin + i]->row_key);
    FLINT_RETURN_IF_ERROR(database().MultiGet(entry_.family, count, keys.data(), values.data(),
                                              statuses.data(), /*sorted=*/true));
    for (size_t i = 0; i < count; ++i) {
      SetLoaded(entries[begin + i], statuses[i].ok(), {values[i].data(), values[i].size()});
      values[i].Reset();
    }
  }
  return {};
}

bool PointTable::Touch(PointEntry* entry, const Moment& now) {
  const TimeToLive& ttl = expiry().ttl();
  if (now.Expired(entry->stored)) {
    if (!ttl.return_expired) return false;
    taken_ = entry->stored;
    Remove(entry);
    return true;
  }
  int64_t stamp = ttl.refresh_on_read ? now.StampOver(entry->stored) : kNoTime;
  if (stamp == kNoTime || stamp == StampOrNone(entry->stored)) return true;
  taken_.assign(RowOf(entry->stored));
  Store(entry, taken_, stamp);
  return true;
}

Result<bool> PointTable::Read(std::string_view* row) {
  Moment now;
  FLINT_RETURN_IF_ERROR(LocateAt(&now));
  ++metrics_.reads;
  FLINT_RETURN_IF_ERROR(Load(located_));
  return Take(located_, now, row);
}

Status PointTable::Write(std::string_view row) {
  Moment now;
  FLINT_RETURN_IF_ERROR(LocateAt(&now));
  ++metrics_.writes;
  return Replace(located_, row, now);
}

Status PointTable::Clear() {
  FLINT_RETURN_IF_ERROR(Locate());
  ++metrics_.writes;
  Remove(located_);
  return {};
}

Status PointTable::MergeBlind(std::string_view operand) {
  using Knowledge = PointEntry::Knowledge;
  FLINT_RETURN_IF_ERROR(Locate());
  FLINT_RETURN_IF_ERROR(CheckSize(located_->row_key.size(), operand.size()));
  ++metrics_.writes;
  size_t before = located_->stored.size();
  switch (located_->knowledge) {
    case Knowledge::kAbsent:
      located_->stored = MergeStored({}, operand);
      located_->knowledge = Knowledge::kPresent;
      break;
    case Knowledge::kUnknown:
      located_->stored.assign(operand);
      located_->knowledge = Knowledge::kOperand;
      break;
    case Knowledge::kPresent:
      MergeInto(&located_->stored, operand);
      break;
    case Knowledge::kOperand:
      MergeOperandInto(&located_->stored, operand);
      break;
  }
  context_->cached_bytes += located_->stored.size() - before;
  MarkDirty(located_);
  return {};
}

Result<bool> PointTable::ReadSpace(std::string_view space, const Moment& now,
                                   std::string_view* stored) {
  FLINT_RETURN_IF_ERROR(context_->CheckKey());
  PointEntry* entry = FindOrAdd(context_->key.view(), space);
  ++metrics_.reads;
  FLINT_RETURN_IF_ERROR(Load(entry));
  if (entry->knowledge != PointEntry::Knowledge::kPresent) return false;
  *stored = entry->stored;
  return !now.Expired(*stored);
}

Status PointTable::WriteSpace(std::string_view space, std::string_view row, int64_t stamp) {
  FLINT_RETURN_IF_ERROR(context_->CheckKey());
  PointEntry* entry = FindOrAdd(context_->key.view(), space);
  FLINT_RETURN_IF_ERROR(CheckSize(entry->row_key.size(), row.size()));
  ++metrics_.writes;
  Store(entry, row, expiry().ttl().enabled() ? stamp : kNoTime);
  return {};
}

Status PointTable::ClearSpace(std::string_view space) {
  FLINT_RETURN_IF_ERROR(context_->CheckKey());
  ++metrics_.writes;
  Remove(FindOrAdd(context_->key.view(), space));
  return {};
}

Status PointTable::Prefetch(std::span<const StateKey> keys) {
  prefetched_.clear();
  prefetched_space_ = space_;
  return ReadMany(keys, &prefetched_);
}

Status PointTable::ReadMany(std::span<const StateKey> keys, std::vector<PointEntry*>* entries) {
  FLINT_RETURN_IF_ERROR(context_->health);
  FLINT_RETURN_IF_ERROR(context_->MakeRoom());
  metrics_.reads += keys.size();
  entries->reserve(entries->size() + keys.size());
  size_t first = entries->size();
  for (const StateKey& key : keys) entries->push_back(FindOrAdd(key, space_));
  return LoadMany({entries->begin() + static_cast<ptrdiff_t>(first), entries->end()});
}

Status PointTable::WriteOne(const StateKey& key, std::string_view row, const Moment& now) {
  FLINT_RETURN_IF_ERROR(context_->MakeRoom());
  ++metrics_.writes;
  return Replace(FindOrAdd(key, space_), row, now);
}

Status PointTable::ClearOne(const StateKey& key) {
  FLINT_RETURN_IF_ERROR(context_->MakeRoom());
  ++metrics_.writes;
  Remove(FindOrAdd(key, space_));
  return {};
}

Status PointTable::Replace(PointEntry* entry, std::string_view row, const Moment& now) {
  FLINT_RETURN_IF_ERROR(CheckDated(now));
  FLINT_RETURN_IF_ERROR(CheckSize(entry->row_key.size(), row.size()));
  // What is there may have a later stamp, which stays.
  if (now.event_time) FLINT_RETURN_IF_ERROR(Load(entry));
  Store(entry, row, now.StampOver(entry->stored));
  return {};
}

void PointTable::Store(PointEntry* entry, std::string_view row, int64_t stamp) {
  size_t before = entry->stored.size();
  entry->stored.clear();
  AppendAt(stamp, row, &entry->stored);
  entry->knowledge = PointEntry::Knowledge::kPresent;
  context_->cached_bytes += entry->stored.size() - before;
  MarkDirty(entry);
}

void PointTable::Remove(PointEntry* entry) {
  context_->cached_bytes -= entry->stored.size();
  entry->stored.clear();
  entry->knowledge = PointEntry::Knowledge::kAbsent;
  MarkDirty(entry);
}

void PointTable::MarkDirty(PointEntry* entry) {
  if (entry->dirty) return;
  entry->dirty = true;
  dirty_.push_back(entry);
}

Status PointTable::Drain(ChangeBatch* changes) {
  using Knowledge = PointEntry::Knowledge;
  if (dirty_.empty()) return {};
  SortByRowKey(&dirty_);
  size_t before = changes->size();
  changes->Enter(entry_.id, entry_.family);
  for (PointEntry* entry : dirty_) {
    entry->dirty = false;
    if (entry->knowledge == Knowledge::kPresent) {
      changes->Put(entry->row_key, entry->stored);
    } else if (entry->knowledge == Knowledge::kOperand) {
      changes->Merge(entry->row_key, entry->stored);
      entry->knowledge = Knowledge::kUnknown;
    } else if (entry->in_store) {
      changes->Delete(entry->row_key);
    }
    entry->in_store = entry->knowledge != Knowledge::kAbsent;
  }
  dirty_.clear();
  metrics_.bytes_written += changes->size() - before;
  return {};
}

Result<std::unique_ptr<OrderedScan>> PointTable::ScanAll() {
  FLINT_ASSIGN_OR_RETURN(Moment now, BeginMany());
  FLINT_RETURN_IF_ERROR(LoadMany(dirty_));
  SortByRowKey(&dirty_);
  RowOverlay changed;
  for (const PointEntry* entry : dirty_) {
    bool present = entry->knowledge == PointEntry::Knowledge::kPresent;
    changed.Append(entry->row_key, entry->stored, {present, true, true});
  }
  FLINT_ASSIGN_OR_RETURN(auto cursor, database().NewCursor(entry_.family, {}));
  return std::make_unique<OrderedScan>(context_->database, now.horizon, "", SuffixRange(),
                                       std::move(changed), SuffixRanges(), std::move(cursor));
}

void PointTable::Forget() {
  entries_.Clear();
  dirty_.clear();
  prefetched_.clear();
  located_ = nullptr;
  located_epoch_ = 0;
}

}  // namespace flint
