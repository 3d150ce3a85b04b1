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

// Gathers records in any order until they are to be sorted. One thread at a time.
class RunBuffer {
 public:
  explicit RunBuffer(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Whether it has reached the size that it was made for.
  bool full() const { return bytes_ >= bytes_max_; }
  bool empty() const { return keys_.empty(); }
  void Add(std::string_view key, std::string_view row);
  // Of equal keys, what was added last remains. Nothing is added before Clear.
  void Sort();
  // After Sort. The reader must not outlive what is in the buffer.
  std::unique_ptr<RunReader> Read() const;
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

// Writes all that is left of `run` to a new file.
Status WriteRun(RunReader* run, const std::string& path);

// The run of a file that WriteRun wrote.
class RunFile : public RunReader {
 public:
  static Result<std::unique_ptr<RunFile>> Open(const std::string& path);
  Result<bool> Next() override;

 private:
  explicit RunFile(ReadFile file) : file_(std::move(file)) {}
  // Has `bytes` at hand behind at_; false where the file ends before.
  Result<bool> Fill(size_t bytes);

  ReadFile file_;
  uint64_t next_ = 0;  // what is read next from the file
  std::string buffer_;
  size_t at_ = 0;
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

}  // namespace flint
