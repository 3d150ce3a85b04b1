// Many threads on one writer. Run under the thread sanitizer, this is its proof.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "segment_fixture.h"

namespace flint::changelog {
namespace {

class ConcurrencyTest : public SegmentFixture {
 protected:
  static constexpr int kThreads = 4;
  static constexpr int kRecords = 5000;

  static void Run(const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
  }
  static Record Numbered(int thread, const std::string& number) {
    return {0, Operation::kPut, static_cast<uint16_t>(thread), 1, number, number};
  }
  // Every thread's records are there, each thread's in its own order.
  static void ExpectAll(const std::vector<Held>& records) {
    ASSERT_EQ(records.size(), size_t{kThreads} * kRecords);
    std::map<uint16_t, int> next;
    for (size_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(records[i].sequence, i + 1);
      ASSERT_EQ(records[i].key, std::to_string(next[records[i].group]++));
    }
  }
};

TEST_F(ConcurrencyTest, ManyThreadsAppendAndSync) {
  WriterOptions options;
  options.batch_bytes = 2048;
  options.queue_bytes = 0;
  std::unique_ptr<Writer> writer = NewWriter("log", options);
  Run([&](int t) {
    uint64_t before = 0;
    for (int i = 0; i < kRecords; ++i) {
      Result<uint64_t> sequence = writer->Append(Numbered(t, std::to_string(i)));
      ASSERT_TRUE(sequence.ok());
      ASSERT_GT(*sequence, before);
      before = *sequence;
      if (i % 500 == t) {
        Result<uint64_t> synced = writer->Sync();
        ASSERT_TRUE(synced.ok());
        ASSERT_GE(*synced, before);
      }
    }
  });
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  ExpectAll(ReadBack(Path("log")).records);
}

TEST_F(ConcurrencyTest, SegmentsRollUnderAppendsAndSyncs) {
  WriterOptions options;
  options.batch_bytes = 1024;
  std::unique_ptr<Writer> writer = NewWriter("0", options);
  std::atomic<bool> done{false};
  int rolls = 0;
  std::thread roller([&] {
    while (!done) {
      ASSERT_TRUE(writer->Roll(Path(std::to_string(++rolls)), {}, {}).ok());
    }
  });
  Run([&](int t) {
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(writer->Append(Numbered(t, std::to_string(i))).ok());
      if (i % 1000 == 0) {
        ASSERT_TRUE(writer->Sync().ok());
      }
    }
  });
  done = true;
  roller.join();
  ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
  std::vector<Held> all;
  for (int i = 0; i <= rolls; ++i) {
    Outcome outcome = ReadBack(Path(std::to_string(i)));
    ASSERT_TRUE(outcome.status.ok() && !outcome.torn) << outcome.status.message();
    all.insert(all.end(), outcome.records.begin(), outcome.records.end());
  }
  ExpectAll(all);
}

TEST_F(ConcurrencyTest, CloseUnderAppendsKeepsWhatWasAnswered) {
  std::unique_ptr<Writer> writer = NewWriter("log");
  std::atomic<size_t> appended{0};
  Run([&](int t) {
    for (int i = 0; i < kRecords; ++i) {
      Result<uint64_t> sequence = writer->Append(Numbered(t, std::to_string(i)));
      if (sequence.ok()) {
        ++appended;
      } else {
        ASSERT_EQ(sequence.status().kind(), ErrorKind::kClosed);
      }
      if (t == 0 && i == kRecords / 2) {
        ASSERT_TRUE(writer->Close(Durability::kProcess).ok());
      }
    }
  });
  Outcome outcome = ReadBack(Path("log"));
  EXPECT_FALSE(outcome.torn);
  EXPECT_EQ(outcome.records.size(), appended.load());
}

TEST_F(ConcurrencyTest, AWriterMayBeDroppedWhileItsThreadWrites) {
  WriterOptions options;
  options.batch_bytes = 1024;
  for (int round = 0; round < 20; ++round) {
    std::string name = "drop" + std::to_string(round);
    std::unique_ptr<Writer> writer = NewWriter(name, options);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(writer->Append(Numbered(0, std::to_string(i))).ok());
    }
    writer.reset();
    Outcome outcome = ReadBack(Path(name));
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_TRUE(outcome.torn);
  }
}

}  // namespace
}  // namespace flint::changelog
