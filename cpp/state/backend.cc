#include "state/backend.h"

#include <filesystem>

#include "key/key_group.h"
#include "key/xxh64.h"
#include "state/backend_meta.h"
#include "state/ordered_table.h"
#include "state/point_table.h"
#include "state/reducer.h"
#include "store/checkpoint.h"

namespace flint {
namespace {

// There are never so many: the next one's number does not come to its end.
constexpr uint32_t kStateIdMax = 1u << 30;

}  // namespace

Backend::Backend(KeySchema key_schema, const BackendOptions& options)
    : key_schema_(std::move(key_schema)),
      options_(options),
      context_(std::make_shared<StateContext>()) {
  context_->clock = std::make_shared<StateClock>();
  context_->group_bytes = GroupBytes(options.max_parallelism);
  context_->cached_bytes_max = options.cache_bytes;
  context_->spill = [this] { return Spill(); };
}

Backend::~Backend() { static_cast<void>(Close()); }

Result<std::unique_ptr<Backend>> Backend::Open(const std::string& directory, const Schema& key,
                                               const BackendOptions& options) {
  if (options.max_parallelism < 1 || options.max_parallelism > int{kMaxParallelismMax} ||
      options.first_group > options.last_group || options.last_group >= options.max_parallelism) {
    return Status::Invalid("key groups " + std::to_string(options.first_group) + " to " +
                           std::to_string(options.last_group) + " of max_parallelism " +
                           std::to_string(options.max_parallelism) +
                           ": max_parallelism is 1 to 32768, and groups lie below it");
  }
  FLINT_ASSIGN_OR_RETURN(KeySchema canonical, KeySchema::Canonical(key));
  std::unique_ptr<Backend> backend(new Backend(std::move(canonical), options));
  FLINT_RETURN_IF_ERROR(backend->OpenDatabase(directory));
  Status status = backend->ReadMeta(key);
  if (!status.ok()) return status.WithContext(directory);
  backend->context_->usable = true;
  return backend;
}

FamilyOptions Backend::MakeFamily(const std::string& name) {
  FamilyOptions family;
  family.name = name;
  if (name == kMetaFamily) return family;
  auto& rule = expiry_[name];
  if (rule == nullptr) rule = std::make_shared<ExpiryRule>(context_->clock);
  family.merge_operator = NewReduceOperator();
  family.compaction_filter_factory = NewExpiryFilter(rule);
  return family;
}

Status Backend::OpenDatabase(const std::string& directory) {
  DatabaseOptions options;
  options.families.push_back(MakeFamily(kMetaFamily));
  FLINT_ASSIGN_OR_RETURN(auto names, Database::ListFamilies(directory));
  for (const std::string& name : names) {
    if (StateIdOf(name)) options.families.push_back(MakeFamily(name));
  }
  options.create_if_missing = options_.create_if_missing;
  options.atomic_flush = true;
  options.durability = Durability::kNone;
  options.flush_on_close = options_.flush_on_close;
  options.read_mode = options_.read_mode;
  options.compression = options_.compression;
  options.memory_bytes = options_.memory_bytes;
  FLINT_ASSIGN_OR_RETURN(context_->database, Database::Open(directory, options));
  FLINT_ASSIGN_OR_RETURN(meta_, context_->database->FindFamily(kMetaFamily));
  spilled_.emplace(directory + "/uncommitted", context_->group_bytes);
  return {};
}

Status Backend::ReadMeta(const Schema& key) {
  FLINT_RETURN_IF_ERROR(CheckIdentity(key));
  FLINT_RETURN_IF_ERROR(ReadCommitPoint());
  return ReadCatalogue();
}

Status Backend::CheckIdentity(const Schema& key) {
  BackendIdentity wanted{key, options_.max_parallelism, options_.first_group, options_.last_group};
  rocksdb::PinnableSlice stored;
  FLINT_ASSIGN_OR_RETURN(bool found, context_->database->Get(meta_, kIdentityKey, &stored));
  if (found) {
    FLINT_ASSIGN_OR_RETURN(auto there, BackendIdentity::Parse({stored.data(), stored.size()}));
    return there.CheckSame(wanted);
  }
  return context_->database->Put(meta_, kIdentityKey, wanted.Serialize());
}

Status Backend::ReadCommitPoint() {
  rocksdb::PinnableSlice stored;
  FLINT_ASSIGN_OR_RETURN(bool found, context_->database->Get(meta_, kCommitKey, &stored));
  if (found) {
    FLINT_ASSIGN_OR_RETURN(point_, CommitPoint::Parse({stored.data(), stored.size()}));
  }
  stored.Reset();
  FLINT_ASSIGN_OR_RETURN(found, context_->database->Get(meta_, kElementsKey, &stored));
  if (!found) return {};
  FLINT_ASSIGN_OR_RETURN(context_->next_element, ParseNextElement({stored.data(), stored.size()}));
  return {};
}

// Families without an entry were made by a process that died before it wrote anything to them.
Status Backend::ReadCatalogue() {
  FLINT_ASSIGN_OR_RETURN(auto cursor, context_->database->NewCursor(meta_, {}));
  {
    FLINT_ASSIGN_OR_RETURN(auto pin, context_->database->Enter());
    rocksdb::Iterator* it = cursor->iterator();
    for (it->Seek(kCatalogueKeys); it->Valid(); it->Next()) {
      auto id = CatalogueIdOf({it->key().data(), it->key().size()});
      if (!id) break;
      FLINT_ASSIGN_OR_RETURN(auto state,
                             StateDescriptor::Parse({it->value().data(), it->value().size()}));
      FLINT_ASSIGN_OR_RETURN(OpenedState * added, AddState(*id, state));
      added->logged = true;
    }
    FLINT_RETURN_IF_ERROR(cursor->status());
  }
  for (const auto& [name, rule] : expiry_) {
    if (by_id_.contains(*StateIdOf(name))) continue;
    FLINT_ASSIGN_OR_RETURN(Family * family, context_->database->FindFamily(name));
    FLINT_RETURN_IF_ERROR(context_->database->DropFamily(family));
  }
  return {};
}

Result<Backend::OpenedState*> Backend::AddState(uint32_t id, const StateDescriptor& descriptor) {
  if (id == kBackendTable || id > kStateIdMax) {
    return Status::Corruption("no state has the number " + std::to_string(id));
  }
  if (states_.contains(descriptor.name)) {
    return Status::Corruption("the state '" + descriptor.name + "' is described twice");
  }
  std::string name = FamilyName(id);
  auto found = context_->database->FindFamily(name);
  if (!found.ok()) found = context_->database->CreateFamily(MakeFamily(name));
  if (!found.ok()) return found.status();
  auto state = std::make_unique<OpenedState>();
  state->entry = {id, descriptor, *found, expiry_[name]};
  OpenedState* added = state.get();
  states_[descriptor.name] = std::move(state);
  by_id_[id] = added;
  return added;
}

std::unique_ptr<StateTable> Backend::MakeTable(const StateEntry& entry) const {
  switch (entry.descriptor.kind) {
    case StateKind::kValue:
    case StateKind::kReducing:
    case StateKind::kAggregating:
      return std::make_unique<PointTable>(context_, entry);
    default:
      return std::make_unique<OrderedTable>(context_, entry);
  }
}

Result<StateTable*> Backend::OpenState(const StateDescriptor& wanted, const TimeToLive& ttl) {
  FLINT_RETURN_IF_ERROR(context_->health);
  auto found = states_.find(wanted.name);
  OpenedState* state = found == states_.end() ? nullptr : found->second.get();
  if (state != nullptr) {
    FLINT_RETURN_IF_ERROR(state->entry.descriptor.CheckSame(wanted));
  } else {
    uint32_t id = by_id_.empty() ? 1 : by_id_.rbegin()->first + 1;
    FLINT_ASSIGN_OR_RETURN(state, AddState(id, wanted));
  }
  if (state->table == nullptr) state->table = MakeTable(state->entry);
  state->entry.expiry->Set(ttl);
  return state->table.get();
}

std::vector<const StateEntry*> Backend::states() const {
  std::vector<const StateEntry*> all;
  for (const auto& [name, state] : states_) all.push_back(&state->entry);
  return all;
}

std::vector<StateTable*> Backend::tables() const {
  std::vector<StateTable*> open;
  for (const auto& [id, state] : by_id_) {
    if (state->table != nullptr) open.push_back(state->table.get());
  }
  return open;
}

const StateEntry* Backend::FindState(std::string_view name) const {
  auto found = states_.find(name);
  return found == states_.end() ? nullptr : &found->second->entry;
}

Result<StateKey> Backend::Locate(std::string_view bytes) const {
  uint64_t hash = Xxh64(bytes, KeyGroupHash::kSeed);
  auto group = static_cast<uint16_t>(hash % static_cast<uint64_t>(options_.max_parallelism));
  if (group < options_.first_group || group > options_.last_group) {
    return Status::Invalid("the key belongs to key group " + std::to_string(group) +
                           "; this backend has the groups " + std::to_string(options_.first_group) +
                           " to " + std::to_string(options_.last_group));
  }
  return StateKey{bytes, hash, group};
}

void Backend::SetKey(const StateKey& key) {
  CurrentKey& current = context_->key;
  current.bytes.assign(key.bytes);
  current.hash = key.hash;
  current.group = key.group;
  current.set = true;
  ++current.epoch;
}

Status Backend::Checkpoint(const std::string& directory) {
  FLINT_RETURN_IF_ERROR(Spill());
  return MakeCheckpoint(*context_->database, directory);
}

Status Backend::Rest() {
  FLINT_RETURN_IF_ERROR(context_->health);
  context_->key.set = false;
  context_->clock->SetRowTime(kNoTime);
  if (context_->cached_bytes > context_->cached_bytes_max / 2) FLINT_RETURN_IF_ERROR(Spill());
  return context_->database->BeginFlush();
}

Status Backend::Close() {
  if (context_->database == nullptr || context_->database->closed()) return {};
  Status spilled;
  bool keeps = context_->health.ok() && options_.flush_on_close && !options_.changelog;
  if (keeps) spilled = Spill();
  context_->usable = false;
  context_->health = Status::Closed(directory() + " was closed: open it again");
  for (StateTable* table : tables()) table->Forget();
  Status closed = context_->database->Close();
  return spilled.ok() ? closed : spilled;
}

Status Backend::Discard() {
  context_->usable = false;
  std::string path = directory();
  FLINT_RETURN_IF_ERROR(context_->database->Close());
  context_->health = Status::Closed(path + " was discarded");
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? ErrnoStatus("remove", path, error.value()) : Status();
}

Status Backend::Poison(Status error) {
  if (error.ok()) return error;
  context_->usable = false;
  context_->health = error.WithContext("the backend failed earlier and must be opened again");
  return error;
}

}  // namespace flint
