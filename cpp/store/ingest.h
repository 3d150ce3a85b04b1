#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/arrow_column.h"
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
// over what is in the table already. One thread at a time.
class Ingestion {
 public:
  using Report = std::function<Status(const IngestProgress&)>;  // its error ends the ingestion

  static Result<std::unique_ptr<Ingestion>> Make(std::shared_ptr<Table> table, Report report);
  ~Ingestion();  // deletes the temporary files

  Status Add(const BatchView& rows);
  // Gives the number of rows that were taken in, those with equal keys each counted.
  Result<int64_t> Finish();

 private:
  Ingestion(std::shared_ptr<Table> table, Report report);
  Status Spill();
  Result<std::unique_ptr<RunReader>> Merged();
  Status MergeOldest();
  Status WriteFiles(RunReader* rows);
  std::string NewFile(const char* ending);
  Status Tell();

  std::shared_ptr<Table> table_;
  Report report_;
  IngestProgress progress_;
  std::string directory_;
  int files_ = 0;
  BatchEncoder encoder_;
  RunBuffer buffer_;
  std::vector<std::string> runs_;
  std::vector<std::string> tables_;
};

// Deletes what ingestions that were killed left in the directory of a store that nobody else has
// open.
void DeleteLeftIngestions(const std::string& directory);

}  // namespace flint
