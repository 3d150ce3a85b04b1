// Reading many keys at once.

#include <algorithm>
#include <utility>

#include "base/arrow_builder.h"
#include "base/interrupt.h"
#include "key/key_decoder.h"
#include "row/row_decoder.h"
#include "store/encoder_loan.h"
#include "store/table.h"

namespace flint {
namespace {

// Keys of one MultiGet: the blocks of all that it finds are held at once.
constexpr int64_t kReadRows = 4096;
// Keys that are worth a thread: reading them takes several times what waking it does.
constexpr size_t kHelpedRows = 256;

// What one piece of keys found, in their order.
class Found {
 public:
  Status Read(Database& database, Family* family, const BatchEncoder& piece,
              const Snapshot* snapshot) {
    const size_t count = piece.size();
    keys_.resize(count);
    if (values_.size() < count) values_ = std::vector<rocksdb::PinnableSlice>(count);
    statuses_.assign(count, rocksdb::Status());
    for (size_t i = 0; i < count; ++i) {
      std::string_view key = piece.key(piece.order()[i]);
      keys_[i] = rocksdb::Slice(key.data(), key.size());
      values_[i].Reset();
    }
    FLINT_RETURN_IF_ERROR(ReadAll(database, family, snapshot));
    rows_.assign(count, std::string_view());
    for (size_t i = 0; i < count; ++i) {
      if (statuses_[i].ok()) rows_[piece.order()[i]] = values_[i].ToStringView();
    }
    return {};
  }
  // A null data pointer: absent.
  std::span<const std::string_view> rows() const { return rows_; }

 private:
  // By as many threads as it pays for: most of a read is waiting for memory, or for a disk.
  Status ReadAll(Database& database, Family* family, const Snapshot* snapshot) {
    const size_t count = keys_.size();
    const auto threads = static_cast<size_t>(database.helpers().threads());
    const size_t parts = std::clamp<size_t>(count / kHelpedRows, 1, threads);
    std::vector<Status> outcomes(parts);
    database.helpers().Share(parts, [&](size_t part) {
      const size_t from = count * part / parts, to = count * (part + 1) / parts;
      outcomes[part] = database.MultiGet(family, to - from, keys_.data() + from,
                                         values_.data() + from, statuses_.data() + from,
                                         /*sorted=*/true, snapshot);
    });
    for (const Status& outcome : outcomes) FLINT_RETURN_IF_ERROR(outcome);
    return {};
  }

  std::vector<rocksdb::Slice> keys_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
  std::vector<std::string_view> rows_;
};

}  // namespace

Result<Schema> Table::GetManySchema(const GetOptions& options) const {
  FLINT_ASSIGN_OR_RETURN(auto columns, ValueColumns(options.columns));
  Schema schema = schema_->key.schema();
  for (int column : columns) {
    Field field = schema_->row->columns()[static_cast<size_t>(column)];
    field.nullable = true;  // null where the key is absent
    schema.fields.push_back(std::move(field));
  }
  if (options.found.empty()) return schema;
  if (schema.IndexOf(options.found) >= 0) {
    return Status::Invalid(where_ + ": found='" + options.found +
                           "' is the name of a column: choose another");
  }
  schema.fields.push_back({options.found, DataType(TypeId::kBool), /*nullable=*/false});
  return schema;
}

Result<OwnedArray> Table::GetMany(const BatchView& keys, const GetOptions& options) {
  FLINT_RETURN_IF_ERROR(Usable());
  FLINT_ASSIGN_OR_RETURN(auto pin, database_->Enter());  // longer than what is found is held
  FLINT_ASSIGN_OR_RETURN(Schema schema, GetManySchema(options));
  FLINT_ASSIGN_OR_RETURN(auto columns, ValueColumns(options.columns));
  EncoderLoan encoder(&encoders_, schema_);
  FLINT_RETURN_IF_ERROR(Context(encoder->Begin(keys, BatchUse::kKeys)));
  BatchBuilder builder(schema);
  const size_t num_keys = schema_->key.size();
  std::vector<ColumnBuilder*> key_out, value_out;
  for (size_t k = 0; k < num_keys; ++k) key_out.push_back(&builder.column(k));
  for (size_t k = 0; k < columns.size(); ++k) value_out.push_back(&builder.column(num_keys + k));
  const KeyDecoder key_decoder(schema_->key);
  const RowDecoder row_decoder(schema_->row, columns);
  std::shared_ptr<const Snapshot> snapshot = options.snapshot;
  if (snapshot == nullptr && keys.num_rows >= 2 * static_cast<int64_t>(kHelpedRows)) {
    FLINT_ASSIGN_OR_RETURN(snapshot, database_->NewSnapshot());  // one moment for all reads
  }
  Found found;
  while (encoder->more()) {
    FLINT_RETURN_IF_ERROR(CheckInterrupt());
    FLINT_RETURN_IF_ERROR(Context(encoder->NextPiece(PieceOrder::kAll, kReadRows)));
    FLINT_RETURN_IF_ERROR(Context(found.Read(*database_, family_, *encoder, snapshot.get())));
    FLINT_RETURN_IF_ERROR(Context(key_decoder.Append(encoder->keys(), key_out)));
    FLINT_RETURN_IF_ERROR(Context(row_decoder.Decode(found.rows(), value_out)));
    if (options.found.empty()) continue;
    ColumnBuilder& there = builder.column(schema.size() - 1);
    for (std::string_view row : found.rows()) there.AppendBool(row.data() != nullptr);
  }
  return builder.Finish(keys.num_rows);
}

}  // namespace flint
