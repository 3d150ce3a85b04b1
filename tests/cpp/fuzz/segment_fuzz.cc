#include "fuzz/segment_fuzz.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/checksum.h"
#include "changelog/format.h"
#include "changelog/reader.h"
#include "changelog/record_source.h"

namespace flint::changelog {
namespace {

template <class T>
void Put(std::string* file, size_t at, T value) {
  std::memcpy(file->data() + at, &value, sizeof value);
}

// Marker, own offset and checksum of the 64 bytes at `at`.
void MendStructure(std::string* file, size_t at, std::string_view marker, uint32_t salt) {
  marker.copy(file->data() + at, marker.size());
  Put(file, at + 8, uint64_t{at});
  std::string_view summed = std::string_view(*file).substr(at + 8, kBlockHeaderSize - 8);
  Put(file, at + 4, ExtendCrc32c(salt, summed));
}

void Require(bool condition) {
  if (!condition) std::abort();
}

// A file of its own for each process, written anew for each input.
const std::string& InputPath() {
  static const std::string path =
      std::filesystem::temp_directory_path() / ("flint_fuzz_" + std::to_string(::getpid()));
  return path;
}

// How many records come out before the end or the first error.
uint64_t CountRecords(ReadOptions options) {
  Result<std::unique_ptr<Reader>> reader = Reader::Open(InputPath(), options);
  if (!reader.ok()) return 0;
  RecordBlock block;
  uint64_t records = 0;
  uint64_t last = 0;
  while (true) {
    Result<bool> more = (*reader)->Next(&block);
    if (!more.ok() || !*more) break;
    block.ForEach([&](const Record& record) {
      Require(record.sequence > last || records == 0);
      Require(record.sequence >= options.from_sequence && options.groups.Holds(record.group));
      Require(HasValue(record.operation) || record.value.empty());
      last = record.sequence;
      ++records;
    });
  }
  return records;
}

uint64_t CountRows() {
  Result<std::unique_ptr<Reader>> reader = Reader::Open(InputPath());
  if (!reader.ok()) return 0;
  auto source = RecordSource::Make(*std::move(reader), {});
  uint64_t rows = 0;
  while (true) {
    Result<std::optional<OwnedArray>> batch = (*source)->Next();
    if (!batch.ok() || !batch->has_value()) return rows;
    rows += static_cast<uint64_t>((**batch)->length);
  }
}

}  // namespace

void MendChecksums(std::string* file) {
  if (file->size() < kFileHeaderSize) return;
  kMagic.copy(file->data(), kMagic.size());
  Put(file, 12, kFormat);
  uint32_t salt = Crc32c(std::string_view(*file).substr(12, kFileHeaderSize - 12));
  Put(file, 8, salt);
  size_t at = kFileHeaderSize;
  size_t index = 0;
  while (at + kBlockHeaderSize + kEndRecordSize <= file->size()) {
    uint32_t stored;
    std::memcpy(&stored, file->data() + at + 28, sizeof stored);
    size_t body = at + kBlockHeaderSize;
    size_t end = body + stored + FillingAfter(stored);
    if (end > file->size()) break;
    Put(file, at + 36, Crc32c(std::string_view(*file).substr(body, end - body)));
    MendStructure(file, at, kBlockMarker, salt);
    index = at;
    at = end;
  }
  if (at + kEndRecordSize != file->size() || index == 0) return;
  Put(file, at + 36, ChecksumOf(std::string_view(*file).substr(index, kBlockHeaderSize)));
  MendStructure(file, at, kEndMarker, salt);
}

void ReadInEveryWay(const std::string& bytes) {
  std::filesystem::remove(InputPath());
  std::ofstream(InputPath(), std::ios::binary) << bytes;
  uint64_t all = CountRecords({});
  Require(CountRows() == all);
  ReadOptions part;
  part.from_sequence = 3;
  part.groups = {1, 300};
  CountRecords(part);
  std::filesystem::remove(InputPath());
}

}  // namespace flint::changelog

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) flint::changelog::MendChecksums(&bytes);
  flint::changelog::ReadInEveryWay(bytes);
  return 0;
}
