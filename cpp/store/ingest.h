#pragma once

#include <rocksdb/options.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/arrow_column.h"
#include "base/helpers.h"
#include "base/status.h"
#include "store/run.h"
#include "store/table.h"

namespace flint {

struct IngestProgress {
  int64_t rows_sorted = 0;   // taken in so far
  int64_t rows_written = 0;  // of them, in files that are ready to be handed over
};

// Brings many rows, in any order, into a table past the memtable and the log: sorts them (what is
// larger than memory by way of temporary files in the store's directory), writes sorted table files
// and hands these over as one. Nothing is seen of it before Finish returns Ok, and then all of it
// is `machine` durable; without that, nothing was written. Of equal keys the last one wins, and
// over what is in the table already. One thread at a time; the database's helpers sort and spill
// while more is added, and write files side by side.
class Ingestion {
 public:
  // Called by the thread that adds and finishes; its error ends the ingestion.
  using Report = std::function<Status(const IngestProgress&)>;

  static Result<std::unique_ptr<Ingestion>> Make(std::shared_ptr<Table> table, Report report);
  ~Ingestion();  // deletes the temporary files
  Ingestion(const Ingestion&) = delete;
  Ingestion& operator=(const Ingestion&) = delete;

  Status Add(const BatchView& rows);
  // Gives the number of rows that were taken in, those with equal keys each counted.
  Result<int64_t> Finish();

 private:
  // Sorted files of one range of keys.
  struct Part {
    KeyRange range;
    std::vector<std::string> files;
    Status status;
  };

  Ingestion(std::shared_ptr<Table> table, Report report);
  Helpers& helpers() const { return table_->database()->helpers(); }
  Status Spill();
  Result<std::unique_ptr<RunFile>> Write(RunBuffer* gathered);
  Status Settle();
  Status MergeOldest();
  Result<std::unique_ptr<RunReader>> Merged(const std::vector<const Run*>& runs,
                                            const KeyRange& range) const;
  std::vector<Part> Cut(const std::vector<const Run*>& runs) const;
  Result<std::vector<std::string>> WriteFiles(const std::vector<const Run*>& runs);
  Status WritePart(RunReader* rows, const rocksdb::Options& options, Part* part);
  Status Wrote(int64_t rows);
  std::string NewFile(const char* ending);
  Status Tell();

  std::shared_ptr<Table> table_;
  Report report_;
  const std::thread::id caller_;
  const uint64_t generation_;  // ForkGeneration() of the process whose files these are
  int64_t rows_sorted_ = 0;
  std::atomic<int64_t> rows_written_{0};
  std::atomic<bool> stop_{false};  // somebody failed: what is under way is in vain
  std::string directory_;
  std::atomic<int> files_{0};
  BatchEncoder encoder_;
  RunBuffer filling_;
  std::vector<std::unique_ptr<RunFile>> runs_;  // oldest first; null: what spill_ gives
  std::shared_ptr<Task> spill_;                 // a helper's; null: none
  RunBuffer spilling_;                          // spill_'s alone until it is settled, as is:
  std::optional<Result<std::unique_ptr<RunFile>>> spilled_;
};

// Deletes what ingestions that were killed left in the directory of a store that nobody else has
// open.
void DeleteLeftIngestions(const std::string& directory);

}  // namespace flint
