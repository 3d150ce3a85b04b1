#include "store/catalog.h"

#include <algorithm>
#include <utility>

#include "base/schema_bytes.h"
#include "store/database.h"
#include "store/record.h"

namespace flint {
namespace {

constexpr char kStoreKey[] = "store";
constexpr std::string_view kTablePrefix = "table:";
constexpr std::string_view kSignature = "flintstate store";
constexpr uint64_t kFormat = 1;

std::string StoreRecord(uint64_t next_id) {
  std::string record;
  AppendString(kSignature, &record);
  AppendVarint(kFormat, &record);
  AppendVarint(next_id, &record);
  SealRecord(&record);
  return record;
}

Result<uint64_t> ParseStoreRecord(std::string_view record) {
  FLINT_ASSIGN_OR_RETURN(std::string_view bytes, OpenRecord(record));
  ByteReader reader(bytes);
  FLINT_ASSIGN_OR_RETURN(std::string_view signature, reader.String());
  if (signature != kSignature) return Status::Invalid("this is not a flintstate store");
  FLINT_ASSIGN_OR_RETURN(uint64_t format, reader.Varint());
  if (format != kFormat) {
    return Status::Invalid("the store is of format " + std::to_string(format) +
                           ", which this version of flintstate doesn't know: use a newer one");
  }
  return reader.Varint();
}

rocksdb::Slice ToSlice(const std::string& bytes) { return bytes; }

// Flushed, so that it is there whatever the database's durability is.
Status WriteThrough(Database& database, Family* family, rocksdb::WriteBatch* batch) {
  FLINT_RETURN_IF_ERROR(database.Write(batch));
  return database.Flush({family});
}

}  // namespace

Result<Catalog> Catalog::Read(Database& database) {
  FLINT_ASSIGN_OR_RETURN(Family * family, database.FindFamily(kCatalogFamily));
  rocksdb::PinnableSlice store;
  FLINT_ASSIGN_OR_RETURN(bool found, database.Get(family, kStoreKey, &store));
  if (!found) return Status::NotFound(database.directory() + ": its catalogue is empty");
  Catalog catalog;
  catalog.is_new_ = false;
  Result<uint64_t> next_id = ParseStoreRecord(store.ToStringView());
  if (!next_id.ok()) return next_id.status().WithContext(database.directory());
  catalog.next_id_ = *next_id;
  FLINT_ASSIGN_OR_RETURN(auto cursor, database.NewCursor(family, {}));
  FLINT_ASSIGN_OR_RETURN(auto pin, database.Enter());
  auto* it = cursor->iterator();
  for (it->Seek(ToSlice(std::string(kTablePrefix))); it->Valid(); it->Next()) {
    std::string_view key = it->key().ToStringView();
    if (!key.starts_with(kTablePrefix)) break;
    key.remove_prefix(kTablePrefix.size());
    auto schema = TableSchema::Parse(key, it->value().ToStringView());
    if (!schema.ok()) return schema.status().WithContext(database.directory());
    auto table = std::make_shared<const TableSchema>(*std::move(schema));
    catalog.tables_.emplace(table->name, table);
  }
  FLINT_RETURN_IF_ERROR(cursor->status());
  return catalog;
}

Status Catalog::Create(Database& database) {
  FLINT_ASSIGN_OR_RETURN(Family * family, database.FindFamily(kCatalogFamily));
  FLINT_RETURN_IF_ERROR(database.Put(family, kStoreKey, StoreRecord(next_id_)));
  is_new_ = false;
  return database.Flush({family});
}

Status Catalog::Put(Database& database, TableSchema schema) {
  FLINT_ASSIGN_OR_RETURN(Family * family, database.FindFamily(kCatalogFamily));
  const uint64_t next_id = std::max(next_id_, schema.id + 1);
  rocksdb::WriteBatch batch;
  rocksdb::Status status =
      batch.Put(family, std::string(kTablePrefix) + schema.name, schema.Serialize());
  if (status.ok()) status = batch.Put(family, kStoreKey, StoreRecord(next_id));
  if (!status.ok()) return Status::Internal("catalogue: " + status.ToString());
  FLINT_RETURN_IF_ERROR(WriteThrough(database, family, &batch));
  next_id_ = next_id;
  std::string name = schema.name;
  tables_[name] = std::make_shared<const TableSchema>(std::move(schema));
  return {};
}

Status Catalog::Drop(Database& database, const std::string& name) {
  FLINT_ASSIGN_OR_RETURN(Family * family, database.FindFamily(kCatalogFamily));
  FLINT_RETURN_IF_ERROR(database.Delete(family, std::string(kTablePrefix) + name));
  FLINT_RETURN_IF_ERROR(database.Flush({family}));
  tables_.erase(name);
  return {};
}

}  // namespace flint
