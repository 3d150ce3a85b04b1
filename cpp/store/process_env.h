#pragma once

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace flint {

// What RocksDB gets from the system: files as its default has them, and for each process threads
// and directory locks of its own. Its default keeps both in objects that a fork copies as they are:
// a child's databases would wait for ever for threads that it does not have, and could not open
// what its parent has had open. Valid to the end of the process; the threads are waited for at its
// exit. Called under NoFork.
rocksdb::Env* ProcessEnv();

}  // namespace flint
