#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "store/key_order.h"
#include "store/key_range.h"

namespace flint {

// Runs: keys and rows in key order, each key once, for sorting what is larger than memory. Files of
// runs are temporary, read back by the process that wrote them and deleted: their format is no
// promise. A record is key size, row size (4 bytes each, native), key, row.

// One run after another, front to back.
class RunReader {
 public:
  virtual ~RunReader() = default;
  // False at the end. key() and row() hold until the next call.
  virtual Result<bool> Next() = 0;
  std::string_view key() const { return key_; }
  std::string_view row() const { return row_; }

 protected:
  std::string_view key_;
  std::string_view row_;
};

// A run that is complete. Several threads may read it.
class Run {
 public:
  // Marks are so many bytes of records apart, or a record where that is larger, and keep so many
  // bytes of a key.
  static constexpr size_t kMarkedBytes = 256 << 10;
  static constexpr size_t kMarkBytes = 32;

  virtual ~Run() = default;
  // The records with keys of the range; its lower bound has kMarkBytes at most. The reader must not
  // outlive the run.
  virtual Result<std::unique_ptr<RunReader>> Read(const KeyRange& range) const = 0;
  // How keys are spread: the beginnings of some of them, ascending.
  const std::vector<std::string>& marks() const { return marks_; }

 protected:
  std::vector<std::string> marks_;
};

// Gathers records in any order until they are sorted, and then is a run.
class RunBuffer : public Run {
 public:
  explicit RunBuffer(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Whether it has reached the size that it was made for.
  bool full() const { return bytes_ >= bytes_max_; }
  bool empty() const { return keys_.empty(); }
  void Add(std::string_view key, std::string_view row);
  // Of equal keys, what was added last remains. Nothing is added before Clear.
  void Sort();
  Result<std::unique_ptr<RunReader>> Read(const KeyRange& range) const override;
  void Clear();

 private:
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };
  class Reader;
  char* Allocate(size_t bytes);

  size_t bytes_max_;
  size_t bytes_ = 0;
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;  // that is being filled
  size_t chunk_used_ = 0;
  std::vector<std::string_view> keys_;  // behind each its row
  std::vector<uint32_t> row_sizes_;
  std::vector<uint32_t> order_;
  KeySorter sorter_;
};

// A run in a file, which goes with it.
class RunFile : public Run {
 public:
  // Writes all that is left of `run` to a new file.
  static Result<std::unique_ptr<RunFile>> Write(RunReader* run, const std::string& path);
  ~RunFile() override;
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;

  Result<std::unique_ptr<RunReader>> Read(const KeyRange& range) const override;

 private:
  class Reader;
  explicit RunFile(std::string path) : path_(std::move(path)) {}
  Status WriteAll(RunReader* run);

  std::string path_;
  std::vector<uint64_t> offsets_;  // of the records whose keys the marks begin
};

// Several runs as one: of equal keys, the last run's record alone.
class RunMerger : public RunReader {
 public:
  RunMerger() = default;
  static Result<std::unique_ptr<RunMerger>> Make(std::vector<std::unique_ptr<RunReader>> runs);
  Result<bool> Next() override;

 private:
  struct Head {
    uint64_t prefix;  // the key's first bytes, big-endian
    uint32_t run;
  };
  bool Before(const Head& a, const Head& b) const;
  Status Push(uint32_t run);
  // Steps the run of the least head, and puts its head where it belongs then.
  Status Step();
  void SinkFirst();

  std::vector<std::unique_ptr<RunReader>> runs_;
  std::vector<Head> heads_;  // a heap, the least first
  bool started_ = false;
  std::string last_key_;
};

// Cuts all keys into `parts` ranges, or fewer, in each of which the runs have about as much.
std::vector<KeyRange> CutEvenly(const std::vector<const Run*>& runs, size_t parts);

}  // namespace flint
