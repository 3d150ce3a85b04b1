#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "state/keyed_cache.h"
#include "state/state_table.h"

namespace flint {

// One value under a (key, namespace), as the cache knows it.
struct PointEntry {
  enum class Knowledge : uint8_t {
    kUnknown,  // RocksDB has to be asked
    kAbsent,
    kPresent,  // `stored` is it
    kOperand,  // whatever RocksDB has, with `stored` merged into it
  };

  uint64_t hash = 0;
  std::string row_key;
  std::string stored;
  Knowledge knowledge = Knowledge::kUnknown;
  bool dirty = false;
  bool in_store = true;  // RocksDB may hold something under the row key
};

// A state that has one value for each (key, namespace): value, reducing and aggregating state.
// Values are rows (docs/format/row.md); time to live is taken care of here.
class PointTable : public StateTable {
 public:
  PointTable(std::shared_ptr<StateContext> context, const StateEntry& entry)
      : StateTable(std::move(context), entry), entries_(context_->group_bytes) {}

  // Of the current key and namespace. Read: false where there is none; `row` lives until the next
  // call on any state of the backend.
  Result<bool> Read(std::string_view* row);
  Status Write(std::string_view row);
  Status Clear();
  // Without reading: what is there, or will be found there, merged with `operand` by the function
  // of the state (reducer.h).
  Status MergeBlind(std::string_view operand);

  // For what is merged, of other namespaces of the current key: a value that has not expired, as
  // it is stored, and a write with a stamp of its own. Nothing is refreshed.
  Result<bool> ReadSpace(std::string_view space, const Moment& now, std::string_view* stored);
  Status WriteSpace(std::string_view space, std::string_view row, int64_t stamp);
  Status ClearSpace(std::string_view space);

  // Brings the entries of many keys, in the current namespace, into the cache by one MultiGet.
  Status Prefetch(std::span<const StateKey> keys);
  // Says that the current key is the i-th of those that were prefetched last, so that its entry
  // need not be looked for.
  void ExpectPrefetched(size_t i) {
    if (i >= prefetched_.size() || prefetched_space_ != space_) return;
    located_ = prefetched_[i];
    located_epoch_ = context_->key.epoch;
  }
  // Entries of many keys in the current namespace, in the cache and known. Valid until the next
  // call on any state but Take.
  Status ReadMany(std::span<const StateKey> keys, std::vector<PointEntry*>* entries);
  // What a read sees of a known entry, whatever that does to it: false where that is nothing.
  // `row` lives until the next call.
  bool Take(PointEntry* entry, const Moment& now, std::string_view* row) {
    if (entry->knowledge != PointEntry::Knowledge::kPresent) return false;
    if (expiry().ttl().enabled() && !Touch(entry, now)) return false;
    *row = RowOf(entry->knowledge == PointEntry::Knowledge::kPresent ? entry->stored : taken_);
    return true;
  }
  Status WriteOne(const StateKey& key, std::string_view row, const Moment& now);
  Status ClearOne(const StateKey& key);

  Status Drain(ChangeBatch* changes) override;
  void Forget() override;
  Result<std::unique_ptr<OrderedScan>> ScanAll() override;

 private:
  Status Locate() {
    FLINT_RETURN_IF_ERROR(context_->CheckKey());
    if (located_epoch_ == context_->key.epoch) return {};
    return LocateAnew();
  }
  // Locates, once it is known what time it is.
  Status LocateAt(Moment* now) {
    FLINT_RETURN_IF_ERROR(Begin(now));
    if (located_epoch_ == context_->key.epoch) return {};
    return LocateAnew();
  }
  Status LocateAnew();
  PointEntry* FindOrAdd(const StateKey& key, std::string_view space);
  Status Load(PointEntry* entry);
  Status LoadMany(std::vector<PointEntry*> entries);
  void SetLoaded(PointEntry* entry, bool found, std::string_view stored);
  // Refreshes what is read, or takes it away where it has expired; false where it is hidden.
  bool Touch(PointEntry* entry, const Moment& now);
  Status Replace(PointEntry* entry, std::string_view row, const Moment& now);
  void Store(PointEntry* entry, std::string_view row, int64_t stamp);
  void Remove(PointEntry* entry);
  void MarkDirty(PointEntry* entry);

  KeyedCache<PointEntry> entries_;
  std::vector<PointEntry*> dirty_;
  std::vector<PointEntry*> prefetched_;
  std::string prefetched_space_;
  std::string taken_;  // what a read took away
  PointEntry* located_ = nullptr;
};

}  // namespace flint
