#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "key/key_writer.h"
#include "state/backend.h"
#include "state/memory_log.h"
#include "state/point_table.h"

namespace flint {

// A backend over string keys in a directory of its own. Rows are taken as they are: but for a
// replay, what is below the bindings doesn't look into them.
class BackendTest : public testing::Test {
 protected:
  BackendTest() {
    std::string pattern = testing::TempDir() + "flint_state_XXXXXX";
    home_ = ::mkdtemp(pattern.data());
  }
  ~BackendTest() override {
    backend_.reset();
    std::filesystem::remove_all(home_);
  }

  std::string Path(const std::string& name) const { return home_ + "/" + name; }

  static Schema OneColumn(const std::string& name, TypeId type) {
    return Schema{{Field{name, DataType(type), false}}};
  }
  Result<std::unique_ptr<Backend>> TryOpen(const std::string& name = "live") {
    return Backend::Open(Path(name), OneColumn("key", TypeId::kString), options_);
  }
  void Open(const std::string& name = "live") {
    auto opened = TryOpen(name);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    backend_ = *std::move(opened);
  }

  static StateDescriptor Describe(const std::string& name, StateKind kind,
                                  TypeId type = TypeId::kInt64) {
    StateDescriptor state;
    state.name = name;
    state.kind = kind;
    state.value = OneColumn("value", type);
    if (kind == StateKind::kMap || kind == StateKind::kSorted) {
      state.user_key = OneColumn("key", TypeId::kString);
    }
    return state;
  }
  PointTable* OpenValue(const std::string& name, const TimeToLive& ttl = {},
                        TypeId type = TypeId::kInt64) {
    auto table = backend_->OpenState(Describe(name, StateKind::kValue, type), ttl);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? dynamic_cast<PointTable*>(*table) : nullptr;
  }

  // The row of a binary value.
  static std::string BytesRow(const std::string& bytes) { return '\0' + bytes; }
  std::string Encoded(const std::string& key) {
    writer_.Clear();
    writer_.AppendBytes(backend_->key_schema().part(0), key);
    return std::string(writer_.bytes());
  }
  void SetKey(const std::string& key) {
    Status status = backend_->SetKey(Encoded(key));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // "none" where there is no value.
  std::string Get(PointTable* table, const std::string& key) {
    SetKey(key);
    std::string_view row;
    auto found = table->Read(&row);
    if (!found.ok()) return "error: " + found.status().message();
    return *found ? std::string(row) : "none";
  }
  void Put(PointTable* table, const std::string& key, const std::string& row) {
    SetKey(key);
    Status status = table->Write(row);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void Clear(PointTable* table, const std::string& key) {
    SetKey(key);
    Status status = table->Clear();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  static VersionId Version(uint8_t number) { return {number}; }
  CommitOptions After(std::optional<VersionId> parent, uint8_t number, bool broken = false) {
    CommitOptions commit;
    commit.version = Version(number);
    commit.parent = parent;
    if (!options_.changelog) return commit;
    commit.log = [=, this](uint64_t first) -> Result<std::unique_ptr<ChangeWriter>> {
      MemorySegment& segment = segments_[number];
      segment.its_version = Version(number);
      segment.its_parent = parent;
      segment.first = first;
      return std::unique_ptr<ChangeWriter>(new MemoryWriter(&segment, broken));
    };
    return commit;
  }
  // Commits version `number` after what stands. False: nothing had changed.
  bool Commit(uint8_t number) {
    auto any = backend_->Commit(After(backend_->commit_point().version, number));
    EXPECT_TRUE(any.ok()) << any.status().message();
    return any.ok() && *any;
  }
  Status Replay(uint8_t number) { return backend_->Replay(&segments_[number]); }

  std::string home_;
  BackendOptions options_;
  std::unique_ptr<Backend> backend_;
  std::map<uint8_t, MemorySegment> segments_;
  KeyWriter writer_;
};

}  // namespace flint
