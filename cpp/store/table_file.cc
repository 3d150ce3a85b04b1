#include "store/table_file.h"

#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>

#include "base/fork.h"
#include "store/process_env.h"
#include "store/rocksdb_status.h"

namespace flint {
namespace {

rocksdb::Options ReadingOnce() {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  NoFork guard;
  options.env = ProcessEnv();
  return options;
}

}  // namespace

Status VerifyTableFile(const std::string& path) {
  rocksdb::SstFileReader reader(ReadingOnce());
  rocksdb::Status status = reader.Open(path);
  if (status.ok()) status = reader.VerifyChecksum();
  return FromRocksDb(status, "verify a table file", path);
}

}  // namespace flint
