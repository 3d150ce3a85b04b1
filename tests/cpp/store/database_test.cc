#include "store/database.h"

#include <gtest/gtest.h>
#include <rocksdb/sst_file_writer.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "store/checkpoint.h"

namespace flint {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() {
    std::string pattern = testing::TempDir() + "flint_database_XXXXXX";
    home_ = ::mkdtemp(pattern.data());
    options_.families.resize(1);
    options_.families[0].name = "rows";
  }
  ~DatabaseTest() override { std::filesystem::remove_all(home_); }

  std::string Path(const std::string& name) const { return home_ + "/" + name; }
  std::shared_ptr<Database> Open(const std::string& name = "db") {
    auto database = Database::Open(Path(name), options_);
    EXPECT_TRUE(database.ok()) << database.status().message();
    return database.ok() ? *database : nullptr;
  }
  static std::string Read(Database& database, const std::string& key) {
    rocksdb::PinnableSlice value;
    auto found = database.Get(*database.FindFamily("rows"), key, &value);
    if (!found.ok()) return "error: " + found.status().message();
    return *found ? value.ToString() : "absent";
  }
  static Status Write(Database& database, const std::string& key, const std::string& value) {
    return database.Put(*database.FindFamily("rows"), key, value);
  }

  std::string home_;
  DatabaseOptions options_;
};

TEST_F(DatabaseTest, WhatWasWrittenIsThereAfterReopening) {
  for (auto durability : {Durability::kNone, Durability::kProcess, Durability::kMachine}) {
    options_.durability = durability;
    std::string name = "db" + std::to_string(static_cast<int>(durability));
    auto database = Open(name);
    ASSERT_TRUE(Write(*database, "a", "1").ok());
    ASSERT_TRUE(database->Close().ok());
    database = Open(name);
    EXPECT_EQ(Read(*database, "a"), "1");
    EXPECT_EQ(Read(*database, "b"), "absent");
  }
}

TEST_F(DatabaseTest, ClosingEmptiesCursorsAndSnapshotsAndSaysSo) {
  auto database = Open();
  ASSERT_TRUE(Write(*database, "a", "1").ok());
  auto cursor = database->NewCursor(*database->FindFamily("rows"), {});
  auto snapshot = database->NewSnapshot();
  ASSERT_TRUE(cursor.ok() && snapshot.ok());
  ASSERT_TRUE(database->Close().ok());
  EXPECT_TRUE(database->Close().ok());
  auto pin = database->Enter();
  ASSERT_FALSE(pin.ok());
  EXPECT_EQ(pin.status().kind(), ErrorKind::kClosed);
  EXPECT_EQ((*cursor)->iterator(), nullptr);
  EXPECT_NE(Open(), nullptr);  // while the closed one's children live on
}

TEST_F(DatabaseTest, ACursorSeesTheStateInWhichItWasMadeWithinItsBounds) {
  auto database = Open();
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_TRUE(Write(*database, key, key).ok());
  CursorOptions options;
  options.lower = "b";
  options.upper = "d";
  auto cursor = database->NewCursor(*database->FindFamily("rows"), options);
  ASSERT_TRUE(cursor.ok());
  ASSERT_TRUE(Write(*database, "bb", "late").ok());
  ASSERT_TRUE(database->Delete(*database->FindFamily("rows"), "c").ok());
  std::string seen;
  auto pin = database->Enter();
  auto* it = (*cursor)->iterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) seen += it->key().ToString();
  EXPECT_EQ(seen, "bc");
  EXPECT_TRUE((*cursor)->status().ok());
}

TEST_F(DatabaseTest, ASecondOpeningIsRefusedByTheNumberOfTheProcess) {
  auto database = Open();
  auto second = Database::Open(Path("db"), options_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().kind(), ErrorKind::kBusy);
  EXPECT_NE(second.status().message().find(std::to_string(::getpid())), std::string::npos);
}

TEST_F(DatabaseTest, AnotherProcessIsToldWhoHoldsTheDirectory) {
  ASSERT_TRUE(Open()->Close().ok());
  int ready[2], finish[2];
  ASSERT_EQ(::pipe(ready) + ::pipe(finish), 0);
  pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    auto own = Database::Open(Path("db"), options_);
    byte = own.ok() ? 'y' : 'n';
    static_cast<void>(::write(ready[1], &byte, 1) + ::read(finish[0], &byte, 1));
    ::_exit(0);
  }
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  auto second = Database::Open(Path("db"), options_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().kind(), ErrorKind::kBusy) << second.status().message();
  EXPECT_NE(second.status().message().find(std::to_string(child)), std::string::npos)
      << second.status().message();
  ASSERT_EQ(::write(finish[1], &byte, 1), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_NE(Open(), nullptr);  // who died holds nothing
}

TEST_F(DatabaseTest, AForkedChildFlushesAndClosesADatabaseOfItsOwn) {
  auto database = Open();
  ASSERT_TRUE(Write(*database, "k", "v").ok());
  ASSERT_TRUE(database->Flush().ok());
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    auto own = Database::Open(Path("child"), options_);
    bool ok = own.ok() && Write(**own, "k", "v").ok() && (*own)->Flush().ok();
    ::_exit(ok && (*own)->Close().ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read(*database, "k"), "v");
}

TEST_F(DatabaseTest, WhoeverClosesItSecondWaitsUntilItIsClosed) {
  for (int round = 0; round < 20; ++round) {
    auto database = Open();
    ASSERT_TRUE(Write(*database, "k", "v").ok());
    std::thread first([&] { EXPECT_TRUE(database->Close().ok()); });
    EXPECT_TRUE(database->Close().ok());
    EXPECT_NE(Open(), nullptr);
    first.join();
  }
}

TEST_F(DatabaseTest, DamageThatWasMetIsRemembered) {
  auto database = Open();
  ASSERT_TRUE(Write(*database, "k", std::string(100, 'v')).ok());
  ASSERT_TRUE(database->Flush().ok());
  for (const auto& entry : std::filesystem::directory_iterator(Path("db"))) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(20).put('!');
  }
  EXPECT_FALSE(database->damaged());
  EXPECT_NE(Read(*database, "k").find("error"), std::string::npos);
  EXPECT_TRUE(database->damaged());
}

TEST_F(DatabaseTest, AForkedChildGetsAnErrorAndTheParentGoesOn) {
  auto database = Open();
  ASSERT_TRUE(Write(*database, "a", "1").ok());
  auto cursor = database->NewCursor(*database->FindFamily("rows"), {});
  pid_t child = ::fork();
  if (child == 0) {
    Status status = Write(*database, "a", "from the child");
    bool refused = !status.ok() && status.kind() == ErrorKind::kClosed;
    auto again = Database::Open(Path("db"), options_);
    refused = refused && !again.ok() && again.status().kind() == ErrorKind::kBusy;
    refused = refused && database->Close().ok();
    (*cursor).reset();
    database.reset();
    ::_exit(refused ? 0 : 1);
  }
  int outcome = -1;
  ASSERT_EQ(::waitpid(child, &outcome, 0), child);
  EXPECT_EQ(outcome, 0);
  EXPECT_EQ(Read(*database, "a"), "1");
  EXPECT_TRUE(Write(*database, "a", "2").ok());
}

TEST_F(DatabaseTest, ADirectoryThatIsNotOursIsLeftAlone) {
  std::filesystem::create_directories(Path("other"));
  std::ofstream(Path("other/notes.txt")) << "mine";
  auto database = Database::Open(Path("other"), options_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.status().kind(), ErrorKind::kInvalid);
  EXPECT_NE(database.status().message().find("notes.txt"), std::string::npos);
  auto file = Database::Open(Path("other/notes.txt"), options_);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(Path("other")), {}), 1);
}

TEST_F(DatabaseTest, FamiliesThatAreNotNamedAreRefused) {
  ASSERT_NE(Open(), nullptr);
  options_.families.clear();
  auto database = Database::Open(Path("db"), options_);
  ASSERT_FALSE(database.ok());
  EXPECT_NE(database.status().message().find("rows"), std::string::npos);
}

TEST_F(DatabaseTest, FamiliesAreCreatedAndDropped) {
  auto database = Open();
  FamilyOptions more;
  more.name = "more";
  auto family = database->CreateFamily(more);
  ASSERT_TRUE(family.ok());
  ASSERT_TRUE(database->Put(*family, "k", "v").ok());
  auto names = Database::ListFamilies(Path("db"));
  EXPECT_EQ(names->size(), 3u);
  ASSERT_TRUE(database->DropFamily(*family).ok());
  EXPECT_FALSE(database->FindFamily("more").ok());
}

TEST_F(DatabaseTest, AnAbsentStoreIsNotCreatedForAReader) {
  options_.read_only = true;
  auto database = Database::Open(Path("db"), options_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.status().kind(), ErrorKind::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(Path("db")));
}

TEST_F(DatabaseTest, AReaderReadsAndCannotWrite) {
  auto writer = Open();
  ASSERT_TRUE(Write(*writer, "a", "1").ok());
  options_.read_only = true;
  auto reader = Open();
  EXPECT_EQ(Read(*reader, "a"), "1");
  Status status = Write(*reader, "a", "2");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.kind(), ErrorKind::kInvalid);
}

TEST_F(DatabaseTest, ASecondPromiseAboutMemoryIsRefusedWhileTheFirstHolds) {
  options_.memory_bytes = 32 << 20;
  auto first = Open("one");
  options_.memory_bytes = 64 << 20;
  EXPECT_FALSE(Database::Open(Path("two"), options_).ok());
  options_.memory_bytes = 0;
  auto second = Open("two");
  EXPECT_EQ(second->memory().bytes(), 32u << 20);
  ASSERT_TRUE(first->Close().ok() && second->Close().ok());
  options_.memory_bytes = 64 << 20;
  EXPECT_NE(Open("two"), nullptr);
}

TEST_F(DatabaseTest, ReadsThroughMappedFiles) {
  options_.read_mode = ReadMode::kMmap;
  options_.compression = Compression::kNone;
  auto database = Open();
  ASSERT_TRUE(Write(*database, "a", "1").ok());
  ASSERT_TRUE(database->Flush().ok());
  EXPECT_EQ(Read(*database, "a"), "1");
}

TEST_F(DatabaseTest, SortedFilesAreTakenIn) {
  auto database = Open();
  Family* family = *database->FindFamily("rows");
  ASSERT_TRUE(Write(*database, "a", "old").ok());
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), database->OptionsOf(family));
  ASSERT_TRUE(writer.Open(Path("sorted.sst")).ok());
  ASSERT_TRUE(writer.Put("a", "new").ok() && writer.Put("b", "2").ok());
  ASSERT_TRUE(writer.Finish().ok());
  Status status = database->Ingest(family, {Path("sorted.sst")}, /*move=*/true);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Read(*database, "a"), "new");
  EXPECT_EQ(Read(*database, "b"), "2");
}

TEST_F(DatabaseTest, ACheckpointIsADatabaseOfItsOwn) {
  for (bool sync : {true, false}) {
    auto database = Open();
    ASSERT_TRUE(Write(*database, "a", "1").ok());
    std::string name = sync ? "copies/one" : "copies/two";
    Status status = MakeCheckpoint(*database, Path(name), {.sync_linked_files = sync});
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Write(*database, "a", "2").ok());
    EXPECT_FALSE(MakeCheckpoint(*database, Path(name)).ok());
    EXPECT_EQ(Read(*Open(name), "a"), "1");
    ASSERT_TRUE(Write(*database, "a", "1").ok());
  }
}

TEST_F(DatabaseTest, ADamagedLogIsAnErrorNotALoss) {
  auto database = Open();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(Write(*database, "key" + std::to_string(i), std::string(100, 'v')).ok());
  }
  ASSERT_TRUE(database->Close().ok());
  for (const auto& entry : std::filesystem::directory_iterator(Path("db"))) {
    if (entry.path().extension() != ".log") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
    file.write("damage", 6);
  }
  auto again = Database::Open(Path("db"), options_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().kind(), ErrorKind::kCorruption) << again.status().message();
  EXPECT_NE(again.status().message().find(Path("db")), std::string::npos);
}

}  // namespace
}  // namespace flint
