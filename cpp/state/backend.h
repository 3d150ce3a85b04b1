#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "key/key_schema.h"
#include "state/change_log.h"
#include "state/commit_point.h"
#include "state/row_shape.h"
#include "state/state_context.h"
#include "state/state_table.h"
#include "state/uncommitted_log.h"
#include "store/database.h"

namespace flint {

struct BackendOptions {
  int max_parallelism = 128;
  uint16_t first_group = 0;
  uint16_t last_group = 127;  // included
  size_t cache_bytes = 64u << 20;
  // What leaves the cache before a commit is kept for the segment that the commit will write.
  bool changelog = false;
  bool create_if_missing = true;
  // Without it, close() leaves what was not flushed yet to be replayed from the changelog.
  bool flush_on_close = true;
  ReadMode read_mode = ReadMode::kCache;
  Compression compression = Compression::kLz4;
  uint64_t memory_bytes = 0;
};

struct CommitOptions {
  VersionId version{};
  std::optional<VersionId> parent;
  // Begins the segment, whose first change is to have this sequence number; called only where
  // something has changed. Empty: no changelog.
  std::function<Result<std::unique_ptr<ChangeWriter>>(uint64_t first_sequence)> log;
};

// Keyed state over a range of key groups, in one RocksDB directory: the states by name, the key
// that calls are about, and the points at which everything is one version. docs/format/state.md
// says what is in the directory and in the log.
//
// One thread at a time; it is the caller's to see to that. RocksDB's own log is off. What survives:
//   the death of the process   what the files held when they were last flushed, and where that
//                              stands (commit_point): one version and its data, never a mixture
//   Close                      everything, with flush_on_close; with a changelog, what was
//   committed
// What was committed to a changelog is replayed from it. Without one, nothing is promised for a
// backend that was not closed, but that it opens and holds one moment of its past.
class Backend {
 public:
  // Invalid where the directory holds the state of other keys, groups or max_parallelism; what
  // Database::Open says besides.
  static Result<std::unique_ptr<Backend>> Open(const std::string& directory, const Schema& key,
                                               const BackendOptions& options);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Keys are handed over in canonical form (KeySchema::Canonical of the key's columns), with the
  // hash that key groups come from.
  const KeySchema& key_schema() const { return key_schema_; }
  const BackendOptions& options() const { return options_; }
  const std::string& directory() const { return context_->database->directory(); }
  const CommitPoint& commit_point() const { return point_; }
  StateContext& context() { return *context_; }

  // Makes `bytes` the current key. Invalid where its key group is not ours: the former key stays.
  Status SetKey(std::string_view bytes) {
    FLINT_ASSIGN_OR_RETURN(StateKey key, Locate(bytes));
    SetKey(key);
    return {};
  }
  void SetKey(const StateKey& key);
  // Hash and key group of a key; Invalid where the group is not ours.
  Result<StateKey> Locate(std::string_view bytes) const;

  // Opens a state, or makes it. Invalid, with both named, where there is another kind or other
  // types under the name. The table lives as long as the backend.
  Result<StateTable*> OpenState(const StateDescriptor& wanted, const TimeToLive& ttl);
  std::vector<const StateEntry*> states() const;
  std::vector<StateTable*> tables() const;  // of the states that are open
  const StateEntry* FindState(std::string_view name) const;

  // Writes all that has changed since the last commit: first to the log, where there is one, then
  // to RocksDB in one atomic batch with the version. False: nothing had changed, nothing was
  // written, and the version stays what it was. After any other failure than a refused option the
  // backend is poisoned: it answers with that error until it is opened again, and then holds the
  // former version.
  Result<bool> Commit(const CommitOptions& options);

  // Brings the files from the segment's parent to its version: the states that it describes, and
  // the changes of our key groups. Invalid where the files stand elsewhere or changes are
  // uncommitted; Corruption, by segment and record, where it holds what no backend writes: then
  // nothing of it is written, and the directory opens at its former version.
  Status Replay(ChangeSource* segment);

  // Writes what has changed to RocksDB and forgets it. With a changelog the files then stand
  // between two versions until the next commit.
  Status Spill();
  // Spills, then links the files into `directory` (store/checkpoint.h).
  Status Checkpoint(const std::string& directory);

  // Between two users, after a commit: no key and no row's time is current, a cache that is more
  // than half full is emptied, so that the next one's work has room in it, and what was written is
  // flushed in the background.
  Status Rest();

  // Without a changelog it keeps everything, with one what was committed; see flush_on_close.
  // Idempotent.
  Status Close();
  // Closes, and removes the directory and all that is in it.
  Status Discard();

 private:
  struct OpenedState {
    StateEntry entry;
    bool logged = false;  // the catalogue entry is in the log and in RocksDB
    std::unique_ptr<StateTable> table;
    std::optional<RowShape> shape;  // once changes of it are replayed
  };

  Backend(KeySchema key_schema, const BackendOptions& options);
  Status OpenDatabase(const std::string& directory);
  Status ReadMeta(const Schema& key);
  Status CheckIdentity(const Schema& key);
  Status ReadCatalogue();
  Status ReadCommitPoint();
  FamilyOptions MakeFamily(const std::string& name);
  Result<OpenedState*> AddState(uint32_t id, const StateDescriptor& descriptor);
  std::unique_ptr<StateTable> MakeTable(const StateEntry& entry) const;

  // Everything since the last time, new states first. `any`: there is more than those.
  Status CollectChanges(ChangeBatch* changes, bool* any);
  Status DrainAll(ChangeBatch* changes);
  void DescribeNewStates(ChangeBatch* changes);
  void MarkDescribed();
  Status CommitChanges(const CommitOptions& options, ChangeBatch* changes);
  Result<uint64_t> WriteLog(const CommitOptions& options, const ChangeBatch& changes) const;
  Status WriteBatch(rocksdb::WriteBatch* batch, const CommitPoint& point);
  Status CheckFollows(const ChangeSource& segment) const;
  Status ReplayChanges(ChangeSource* segment);
  template <class Visit>
  Status VisitChanges(ChangeSource* segment, const Visit& visit);
  // `state`: that of the change before, and then of this one; none where it concerns every group.
  Status FindChanged(const Change& change, OpenedState** state);
  Status CheckChange(const Change& change, OpenedState* state);
  Status CheckBehind(ChangeSource* segment, uint64_t sequence);
  Status ReplayChange(const Change& change, Family* family, rocksdb::WriteBatch* batch);
  Status ReplayMetadata(const Change& change);
  Status ReplayDescription(uint32_t id, std::string_view bytes);
  Status Poison(Status error);

  const KeySchema key_schema_;
  const BackendOptions options_;
  std::shared_ptr<StateContext> context_;
  std::map<std::string, std::shared_ptr<ExpiryRule>> expiry_;  // by family
  Family* meta_ = nullptr;
  CommitPoint point_;
  uint64_t logged_element_ = 1;  // context_->next_element, as it is in the log and in RocksDB
  std::map<std::string, std::unique_ptr<OpenedState>, std::less<>> states_;
  std::map<uint32_t, OpenedState*> by_id_;
  std::optional<UncommittedLog> spilled_;  // what the next segment begins with
};

}  // namespace flint
