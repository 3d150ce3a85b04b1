#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "changelog/reader.h"
#include "changelog/writer.h"

namespace flint::changelog {

// A record that owns its bytes, to compare with.
struct Held {
  uint64_t sequence;
  Operation operation;
  uint16_t group;
  uint32_t table;
  std::string key;
  std::string value;
  bool operator==(const Held&) const = default;
};

// What a test reads: the records up to the end or the first error, and that error.
struct Outcome {
  std::vector<Held> records;
  bool torn = false;
  Segment segment;
  Status status;
};

inline Outcome ReadBack(const std::string& path, ReadOptions options = {}) {
  Outcome outcome;
  Result<std::unique_ptr<Reader>> reader = Reader::Open(path, options);
  if (!reader.ok()) {
    outcome.status = reader.status();
    return outcome;
  }
  outcome.torn = (*reader)->torn();
  outcome.segment = (*reader)->segment();
  RecordBlock block;
  while (true) {
    Result<bool> more = (*reader)->Next(&block);
    outcome.status = more.status();
    if (!more.ok() || !*more) return outcome;
    block.ForEach([&](const Record& record) {
      outcome.records.push_back({record.sequence, record.operation, record.group, record.table,
                                 std::string(record.key), std::string(record.value)});
    });
  }
}

inline std::string Slurp(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

inline void Spill(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // some file systems sync a file that is truncated and rewritten
  std::ofstream(path, std::ios::binary) << bytes;
}

class SegmentFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "flint_changelog_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  std::unique_ptr<Writer> NewWriter(const std::string& name, WriterOptions options = {}) {
    Result<std::unique_ptr<Writer>> writer = Writer::Create(Path(name), std::move(options));
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return writer.ok() ? *std::move(writer) : nullptr;
  }

  // Appends `record` and remembers it, with the sequence number that it was given.
  void Append(Writer& writer, Held record) {
    Result<uint64_t> sequence =
        writer.Append({0, record.operation, record.group, record.table, record.key, record.value});
    ASSERT_TRUE(sequence.ok()) << sequence.status().message();
    record.sequence = *sequence;
    written_.push_back(std::move(record));
  }

  // A closed segment of a few small blocks with every operation in them; a sync ends each block.
  Segment WriteSample(const std::string& name, int blocks = 4) {
    WriterOptions options;
    options.version = {1, 2, 3};
    std::unique_ptr<Writer> writer = NewWriter(name, options);
    for (int i = 0; i < blocks; ++i) {
      std::string n = std::to_string(i);
      uint16_t group = static_cast<uint16_t>(i * 10);
      Append(*writer, {0, Operation::kPut, group, 1, "key" + n, std::string(70, 'v') + n});
      Append(*writer, {0, Operation::kDelete, group, 1, "gone" + n, ""});
      Append(*writer, {0, Operation::kMerge, group, 2, "sum" + n, "+" + n});
      Append(*writer, {0, Operation::kDeleteRange, 0, 2, "a" + n, "b" + n});
      Append(*writer, {0, Operation::kMetadata, group, 0, "", ""});
      EXPECT_TRUE(writer->Sync().ok());
    }
    Result<Segment> segment = writer->Close(Durability::kProcess);
    EXPECT_TRUE(segment.ok()) << segment.status().message();
    return *segment;
  }

  std::string directory_;
  std::vector<Held> written_;
};

}  // namespace flint::changelog
