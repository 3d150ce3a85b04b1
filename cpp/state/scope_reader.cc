#include "state/scope_reader.h"

#include <utility>

#include "key/key_schema.h"

namespace flint {
namespace {

rocksdb::Slice S(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

ScopeReader::ScopeReader(std::string_view row_key, const RowOverlay& entries,
                         const SuffixRanges& cleared, rocksdb::Iterator* store,
                         const SuffixRange& range)
    : row_key_(row_key), entries_(entries), cleared_(cleared), store_(store), range_(range) {
  bool empty = range.to && *range.to <= range.from;
  cache_ = entries.LowerBound(range.from);
  cache_end_ = empty ? cache_ : range.to ? entries.LowerBound(*range.to) : entries.end();
  if (range.reverse) std::swap(cache_, cache_end_);
  store_done_ = store == nullptr || empty;
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

void ScopeReader::Next() {
  if (from_cache_) StepCache();
  if (from_store_) StepStore();
  Settle();
}

// Stands on the nearer of the two rows; where they have the same key, the cache's is right.
void ScopeReader::Settle() {
  while (true) {
    bool cache = cache_ != cache_end_;
    bool store = StoreValid();
    valid_ = cache || store;
    if (!valid_) return;
    RowOverlay::Place row = cache ? CacheRow() : cache_;
    int order = 0;
    if (cache && store) order = entries_.suffix(row).compare(StoreSuffix());
    if (range_.reverse) order = -order;
    from_cache_ = cache && (!store || order <= 0);
    from_store_ = store && (!cache || order >= 0);
    if (!from_cache_) {
      suffix_ = StoreSuffix();
      rocksdb::Slice value = store_->value();
      stored_ = {value.data(), value.size()};
      return;
    }
    suffix_ = entries_.suffix(row);
    stored_ = entries_.stored(row);
    if (entries_.flags(row).present) return;
    StepCache();
    if (from_store_) StepStore();
  }
}

}  // namespace flint
