// How a backend's changes reach its files: spilled, committed, replayed.

#include "state/backend.h"
#include "state/backend_meta.h"

namespace flint {
namespace {

// A replay writes so much at once: a segment up to this size is taken whole or not at all.
constexpr size_t kReplayBatchBytes = 32u << 20;

}  // namespace

Status Backend::DrainAll(ChangeBatch* changes) {
  for (StateTable* table : tables()) FLINT_RETURN_IF_ERROR(table->Drain(changes));
  return changes->error();
}

// They come first, so that whoever replays knows the states before their rows.
void Backend::DescribeNewStates(ChangeBatch* changes) {
  for (auto& [id, state] : by_id_) {
    if (state->logged) continue;
    changes->Enter(kBackendTable, meta_);
    changes->Put(CatalogueKey(id), state->entry.descriptor.Serialize());
  }
}

void Backend::MarkDescribed() {
  for (auto& [id, state] : by_id_) state->logged = true;
  logged_element_ = context_->next_element;
}

Status Backend::CollectChanges(ChangeBatch* changes, bool* any) {
  DescribeNewStates(changes);
  uint32_t described = changes->count();
  FLINT_RETURN_IF_ERROR(DrainAll(changes));
  *any = changes->count() > described;
  if (logged_element_ == context_->next_element) return {};
  std::string element;
  AppendBigEndian(context_->next_element, &element);
  changes->Enter(kBackendTable, meta_);
  changes->Put(kElementsKey, element);
  return {};
}

Status Backend::WriteBatch(rocksdb::WriteBatch* batch, const CommitPoint& point) {
  std::string stored = point.Serialize();
  if (!batch->Put(meta_, kCommitKey, stored).ok()) return Status::Internal("a batch is full");
  FLINT_RETURN_IF_ERROR(context_->database->Write(batch));
  point_ = point;
  return {};
}

Status Backend::Spill() {
  FLINT_RETURN_IF_ERROR(context_->health);
  ChangeBatch changes(context_->group_bytes);
  bool any = false;
  FLINT_RETURN_IF_ERROR(Poison(CollectChanges(&changes, &any)));
  if (any || (!changes.empty() && !options_.changelog)) {
    CommitPoint point = point_;
    point.between = options_.changelog || point.version.has_value();
    if (options_.changelog) FLINT_RETURN_IF_ERROR(Poison(spilled_->Append(changes)));
    FLINT_RETURN_IF_ERROR(Poison(WriteBatch(changes.rocksdb(), point)));
    MarkDescribed();
  }
  for (StateTable* table : tables()) table->Forget();
  ++context_->key.epoch;
  context_->cached_bytes = 0;
  return {};
}

Result<bool> Backend::Commit(const CommitOptions& options) {
  FLINT_RETURN_IF_ERROR(context_->health);
  if (options.parent != point_.version) {
    return Status::Invalid(directory() + " stands at version " + VersionText(point_.version) +
                           "; a commit can't follow " + VersionText(options.parent));
  }
  if (point_.between && spilled_->empty() && options_.changelog) {
    return Status::Invalid(directory() + " was left between two versions: restore it");
  }
  if (options.log && !options_.changelog) {
    return Status::Invalid("a backend that was opened without changelog can't write one");
  }
  ChangeBatch changes(context_->group_bytes);
  bool any = false;
  FLINT_RETURN_IF_ERROR(Poison(CollectChanges(&changes, &any)));
  if (!any && spilled_->empty()) return false;
  FLINT_RETURN_IF_ERROR(Poison(CommitChanges(options, &changes)));
  MarkDescribed();
  spilled_->Clear();
  return true;
}

Status Backend::CommitChanges(const CommitOptions& options, ChangeBatch* changes) {
  CommitPoint point = point_;
  point.version = options.version;
  point.between = false;
  if (options.log) {
    FLINT_ASSIGN_OR_RETURN(point.last_sequence, WriteLog(options, *changes));
  }
  return WriteBatch(changes->rocksdb(), point);
}

Result<uint64_t> Backend::WriteLog(const CommitOptions& options, const ChangeBatch& changes) const {
  FLINT_ASSIGN_OR_RETURN(auto log, options.log(point_.last_sequence + 1));
  FLINT_RETURN_IF_ERROR(spilled_->WriteTo(log.get()));
  FLINT_RETURN_IF_ERROR(changes.Log(log.get()));
  return log->Finish();
}

Status Backend::Replay(ChangeSource* segment) {
  FLINT_RETURN_IF_ERROR(context_->health);
  ChangeBatch changes(context_->group_bytes);
  bool any = false;
  FLINT_RETURN_IF_ERROR(Poison(CollectChanges(&changes, &any)));
  if (any || !spilled_->empty()) {
    return Poison(Status::Invalid("there are uncommitted changes: a replay would mix with them"));
  }
  FLINT_RETURN_IF_ERROR(CheckFollows(*segment));
  return Poison(ReplayChanges(segment).WithContext(segment->name()));
}

Status Backend::CheckFollows(const ChangeSource& segment) const {
  if (point_.between) {
    return Status::Invalid("the files were left between two versions: nothing can follow");
  }
  if (segment.parent() != point_.version || segment.first_sequence() != point_.last_sequence + 1) {
    return Status::Invalid(segment.name() + " follows version " + VersionText(segment.parent()) +
                           " at change " + std::to_string(segment.first_sequence()) + "; " +
                           directory() + " stands at " + VersionText(point_.version) + ", change " +
                           std::to_string(point_.last_sequence));
  }
  return {};
}

template <class Visit>
Status Backend::VisitChanges(ChangeSource* segment, const Visit& visit) {
  auto located = [&](const Change& change) -> Status {
    Status status = visit(change);
    if (status.ok()) return status;
    return status.WithContext("record " + std::to_string(change.sequence));
  };
  FLINT_RETURN_IF_ERROR(segment->ForEach(kEveryGroup, kEveryGroup, located));
  return segment->ForEach(options_.first_group, options_.last_group, located);
}

// A segment that takes several batches is read to its end before the first of them is written.
Status Backend::ReplayChanges(ChangeSource* segment) {
  CommitPoint underway = point_;
  underway.between = true;
  rocksdb::WriteBatch batch;
  OpenedState* state = nullptr;
  auto apply = [&](const Change& change) -> Status {
    FLINT_RETURN_IF_ERROR(FindChanged(change, &state));
    if (!point_.between) FLINT_RETURN_IF_ERROR(CheckChange(change, state));
    Family* family = state == nullptr ? meta_ : state->entry.family;
    FLINT_RETURN_IF_ERROR(ReplayChange(change, family, &batch));
    if (batch.GetDataSize() < kReplayBatchBytes) return {};
    if (!point_.between) FLINT_RETURN_IF_ERROR(CheckBehind(segment, change.sequence));
    FLINT_RETURN_IF_ERROR(WriteBatch(&batch, underway));
    batch.Clear();
    return {};
  };
  FLINT_RETURN_IF_ERROR(VisitChanges(segment, apply));
  for (StateTable* table : tables()) table->Forget();
  ++context_->key.epoch;
  return WriteBatch(&batch, {segment->version(), false, segment->last_sequence()});
}

Status Backend::CheckBehind(ChangeSource* segment, uint64_t sequence) {
  OpenedState* state = nullptr;
  return VisitChanges(segment, [&](const Change& change) -> Status {
    if (change.sequence <= sequence) return {};
    FLINT_RETURN_IF_ERROR(FindChanged(change, &state));
    return CheckChange(change, state);
  });
}

// Changes come by states, so the last one is mostly the one.
Status Backend::FindChanged(const Change& change, OpenedState** state) {
  if (change.group == kEveryGroup) {
    *state = nullptr;
    return {};
  }
  if (*state != nullptr && (*state)->entry.id == change.table) return {};
  auto found = by_id_.find(change.table);
  if (found == by_id_.end()) {
    return Status::Corruption("it belongs to state " + std::to_string(change.table) +
                              ", which was never described");
  }
  *state = found->second;
  if ((*state)->shape) return {};
  FLINT_ASSIGN_OR_RETURN((*state)->shape, RowShape::Make(key_schema_, options_.max_parallelism,
                                                         (*state)->entry.descriptor));
  return {};
}

// Metadata is checked where it is taken in, which comes first.
Status Backend::CheckChange(const Change& change, OpenedState* state) {
  if (state == nullptr) {
    bool right = change.table == kBackendTable && change.kind == ChangeKind::kMetadata;
    return right ? Status() : Status::Corruption("only metadata concerns every key group");
  }
  Status status = state->shape->Check(change, context_->next_element);
  return status.ok() ? status : status.WithContext("state '" + state->entry.descriptor.name + "'");
}

Status Backend::ReplayChange(const Change& change, Family* family, rocksdb::WriteBatch* batch) {
  rocksdb::Slice key(change.key.data(), change.key.size());
  rocksdb::Slice value(change.value.data(), change.value.size());
  rocksdb::Status status;
  switch (change.kind) {
    case ChangeKind::kMetadata:
      FLINT_RETURN_IF_ERROR(ReplayMetadata(change));
      status = batch->Put(family, key, value);
      break;
    case ChangeKind::kPut:
      status = batch->Put(family, key, value);
      break;
    case ChangeKind::kDelete:
      status = batch->Delete(family, key);
      break;
    case ChangeKind::kMerge:
      status = batch->Merge(family, key, value);
      break;
    case ChangeKind::kDeleteRange:
      status = batch->DeleteRange(family, key, value);
      break;
  }
  return status.ok() ? Status() : Status::Invalid("it can't be applied: " + status.ToString());
}

// Whatever else is written to `_meta` would be taken for the backend's own word.
Status Backend::ReplayMetadata(const Change& change) {
  if (change.key == kElementsKey) {
    FLINT_ASSIGN_OR_RETURN(uint64_t next, ParseNextElement(change.value));
    context_->next_element = std::max(context_->next_element, next);
    logged_element_ = context_->next_element;
    return {};
  }
  auto id = CatalogueIdOf(change.key);
  if (!id) return Status::Corruption("its metadata is neither a state nor the element number");
  return ReplayDescription(*id, change.value);
}

Status Backend::ReplayDescription(uint32_t id, std::string_view bytes) {
  FLINT_ASSIGN_OR_RETURN(auto descriptor, StateDescriptor::Parse(bytes));
  FLINT_RETURN_IF_ERROR(RowShape::Make(key_schema_, options_.max_parallelism, descriptor).status());
  auto there = by_id_.find(id);
  if (there != by_id_.end()) {
    there->second->logged = true;
    Status same = there->second->entry.descriptor.CheckSame(descriptor);
    return same.ok() ? same : Status::Corruption(same.message());
  }
  FLINT_ASSIGN_OR_RETURN(OpenedState * added, AddState(id, descriptor));
  added->logged = true;
  return {};
}

}  // namespace flint
