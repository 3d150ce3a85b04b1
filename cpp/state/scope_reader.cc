#include "state/scope_reader.h"

#include "key/key_schema.h"

namespace flint {
namespace {

rocksdb::Slice S(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

ScopeReader::ScopeReader(std::string_view row_key, const OrderedEntries& entries,
                         const SuffixRanges& cleared, rocksdb::Iterator* store,
                         const SuffixRange& range)
    : row_key_(row_key), entries_(entries), cleared_(cleared), store_(store), range_(range) {
  if (!range.reverse) {
    cache_ = entries.lower_bound(range.from);
  } else {
    cache_ = range.to ? entries.lower_bound(*range.to) : entries.end();
  }
  store_done_ = store == nullptr || (range.to && *range.to <= range.from);
  if (!store_done_) SeekStore();
  Settle();
}

std::string ScopeReader::RowKey(std::string_view suffix) const {
  std::string key(row_key_);
  return key.append(suffix);
}

void ScopeReader::SeekStore() {
  if (!range_.reverse) {
    store_->Seek(S(RowKey(range_.from)));
  } else {
    SeekBefore(range_.to ? RowKey(*range_.to) : PrefixSuccessor(row_key_));
  }
  SkipVoid();
}

void ScopeReader::SeekBefore(const std::optional<std::string>& end) {
  if (!end) return store_->SeekToLast();
  store_->SeekForPrev(S(*end));
  if (store_->Valid() && store_->key() == S(*end)) store_->Prev();
}

void ScopeReader::StepStore() {
  if (range_.reverse)
    store_->Prev();
  else
    store_->Next();
  SkipVoid();
}

// Past rows that a clearing has made void, a range at a time.
void ScopeReader::SkipVoid() {
  while (StoreValid()) {
    std::string_view suffix = StoreSuffix();
    const SuffixRanges::End* end = cleared_.empty() ? nullptr : cleared_.Holding(suffix);
    if (end == nullptr) return;
    if (range_.reverse) {
      SeekBefore(RowKey(cleared_.BeginHolding(suffix)));
    } else if (*end) {
      store_->Seek(S(RowKey(**end)));
    } else {
      store_done_ = true;
    }
  }
}

bool ScopeReader::StoreValid() const {
  if (store_done_ || !store_->Valid()) return false;
  rocksdb::Slice key = store_->key();
  return key.starts_with(S(row_key_)) && range_.Holds(StoreSuffix());
}

std::string_view ScopeReader::StoreSuffix() const {
  rocksdb::Slice key = store_->key();
  return {key.data() + row_key_.size(), key.size() - row_key_.size()};
}

bool ScopeReader::CacheValid() const {
  if (range_.reverse) return cache_ != entries_.begin() && range_.Holds(std::prev(cache_)->first);
  return cache_ != entries_.end() && range_.Holds(cache_->first);
}

const OrderedEntries::value_type& ScopeReader::CacheRow() const {
  return range_.reverse ? *std::prev(cache_) : *cache_;
}

void ScopeReader::StepCache() {
  if (range_.reverse)
    --cache_;
  else
    ++cache_;
}

void ScopeReader::Next() {
  if (from_cache_) StepCache();
  if (from_store_) StepStore();
  Settle();
}

// Stands on the nearer of the two rows; where they have the same key, the cache's is right.
void ScopeReader::Settle() {
  while (true) {
    bool cache = CacheValid();
    bool store = StoreValid();
    valid_ = cache || store;
    if (!valid_) return;
    int order = 0;
    if (cache && store) order = std::string_view(CacheRow().first).compare(StoreSuffix());
    if (range_.reverse) order = -order;
    from_cache_ = cache && (!store || order <= 0);
    from_store_ = store && (!cache || order >= 0);
    if (!from_cache_) {
      suffix_ = StoreSuffix();
      rocksdb::Slice value = store_->value();
      stored_ = {value.data(), value.size()};
      return;
    }
    const auto& [suffix, entry] = CacheRow();
    suffix_ = suffix;
    stored_ = entry.stored;
    if (entry.present) return;
    StepCache();
    if (from_store_) StepStore();
  }
}

}  // namespace flint
