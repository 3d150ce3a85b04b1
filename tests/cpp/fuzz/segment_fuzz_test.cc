// The plain driver of the fuzz target: segments of every shape, changed at random, from a seed that
// a failure prints. It runs for FLINT_FUZZ_SECONDS (10), times FLINT_ROUNDS.

#include "fuzz/segment_fuzz.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "changelog/writer.h"

namespace flint::changelog {
namespace {

using Random = std::mt19937_64;

int Setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

// The bytes of a segment with some blocks, closed or torn.
std::string Segment(Random& random) {
  std::string path =
      std::filesystem::temp_directory_path() / ("flint_fuzz_seed_" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  WriterOptions options;
  options.batch_bytes = 1024;
  std::unique_ptr<Writer> writer = *Writer::Create(path, options);
  for (uint64_t left = random() % 60; left > 0; --left) {
    std::string key(random() % 20, static_cast<char>(random()));
    std::string value(random() % 100, static_cast<char>(random()));
    auto operation = static_cast<Operation>(random() % kOperations);
    if (!HasValue(operation)) value.clear();
    Record record{0, operation, static_cast<uint16_t>(random() % 400), 1, key, value};
    EXPECT_TRUE(writer->Append(record).ok());
    if (random() % 8 == 0) {
      EXPECT_TRUE(writer->Sync().ok());
    }
  }
  if (random() % 4 != 0) {
    EXPECT_TRUE(writer->Close(Durability::kProcess).ok());
  }
  writer.reset();
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  std::filesystem::remove(path);
  return bytes.str();
}

void Change(std::string* bytes, Random& random) {
  size_t at = bytes->empty() ? 0 : random() % bytes->size();
  size_t length = std::min<size_t>(bytes->size() - at, 1 + random() % 16);
  switch (random() % 6) {
    case 0:
      bytes->resize(at);
      break;
    case 1:
      bytes->replace(at, length, std::string(length, random() % 2 == 0 ? '\0' : '\xFF'));
      break;
    case 2:
      bytes->insert(at, bytes->substr(bytes->size() - at / 2, length));
      break;
    case 3:
      bytes->erase(at, length);
      break;
    default:
      if (!bytes->empty()) (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << random() % 8));
  }
}

TEST(SegmentFuzzTest, NoChangeOfBytesCrashesTheReaderOrMakesItContradictItself) {
  int seconds = Setting("FLINT_FUZZ_SECONDS", 10) * Setting("FLINT_ROUNDS", 1);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  Random seeds(std::random_device{}());
  int inputs = 0;
  while (std::chrono::steady_clock::now() < end) {
    uint64_t seed = seeds();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::string segment = Segment(random);
    for (int i = 0; i < 50; ++i, ++inputs) {
      std::string input = segment;
      for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) Change(&input, random);
      input.insert(0, 1, static_cast<char>(i));
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    }
  }
  EXPECT_GT(inputs, 0);
}

}  // namespace
}  // namespace flint::changelog
