#include "scan/scan_plan.h"

#include <utility>

namespace flint {

Result<std::shared_ptr<const ScanPlan>> ScanPlan::Make(
    std::shared_ptr<Table> table, const std::optional<std::vector<std::string>>& columns,
    std::shared_ptr<const Snapshot> snapshot, bool reverse) {
  std::shared_ptr<ScanPlan> plan(new ScanPlan(std::move(table), std::move(snapshot), reverse));
  std::vector<std::string> all;
  for (const Field& field : plan->table_->schema().columns().fields) all.push_back(field.name);
  FLINT_RETURN_IF_ERROR(plan->Choose(columns.value_or(all)));
  return std::shared_ptr<const ScanPlan>(std::move(plan));
}

// Which columns are asked for, and who decodes them.
Status ScanPlan::Choose(const std::vector<std::string>& names) {
  const TableSchema& table = table_->schema();
  const Schema all = table.columns();
  const int num_keys = static_cast<int>(table.key.size());
  key_places_.assign(table.key.size(), -1);
  std::vector<int> values;
  for (const std::string& name : names) {
    const int at = all.IndexOf(name);
    const int place = static_cast<int>(schema_.size());
    if (at < 0 || schema_.IndexOf(name) >= 0) {
      return table_->Context(
          Status::Invalid((at < 0 ? "there is no column '" : "columns has twice '") + name +
                          "'; the table's are " + all.ToString()));
    }
    schema_.fields.push_back(all[static_cast<size_t>(at)]);
    if (at < num_keys) {
      key_places_[static_cast<size_t>(at)] = place;
      if (key_decoder_ == nullptr) key_decoder_ = std::make_unique<KeyDecoder>(table.key);
    } else {
      value_places_.push_back(place);
      values.push_back(at - num_keys);
    }
  }
  if (!values.empty()) row_decoder_ = std::make_unique<RowDecoder>(table.row, std::move(values));
  return {};
}

Status ScanPlan::Decode(const ScannedRows& block, BatchBuilder* batch) const {
  auto builders = [batch](const std::vector<int>& places) {
    std::vector<ColumnBuilder*> out;
    for (int at : places) out.push_back(at < 0 ? nullptr : &batch->column(static_cast<size_t>(at)));
    return out;
  };
  if (key_decoder_) {
    Status decoded = key_decoder_->Append(block.keys(), builders(key_places_));
    FLINT_RETURN_IF_ERROR(table_->Context(std::move(decoded)));
  }
  if (!row_decoder_) return {};
  return table_->Context(row_decoder_->Decode(block.rows(), builders(value_places_)));
}

}  // namespace flint
