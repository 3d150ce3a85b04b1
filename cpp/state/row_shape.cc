#include "state/row_shape.h"

#include <string>
#include <utility>

#include "base/utf8.h"
#include "key/key_group.h"
#include "key/key_reader.h"
#include "key/xxh64.h"
#include "row/row_reader.h"
#include "state/entry_source.h"
#include "state/reducer.h"
#include "state/row_key.h"
#include "state/stored_value.h"

namespace flint {
namespace {

constexpr size_t kNumberBytes = 8;  // of an element number, or a timer's time

Status Wrong(const std::string& what) { return Status::Corruption(what); }

bool HasElements(StateKind kind) { return kind == StateKind::kList || kind == StateKind::kSorted; }

std::string GroupText(uint16_t group) { return "key group " + std::to_string(group); }

Status AsCorruption(const Status& status) {
  return status.ok() ? status : Status::Corruption(status.message());
}

}  // namespace

Result<RowShape> RowShape::Make(const KeySchema& key, int max_parallelism,
                                const StateDescriptor& state) {
  RowShape shape(key, max_parallelism, state.kind);
  FLINT_RETURN_IF_ERROR(AsCorruption(shape.MakeParts(state)).WithContext(state.ToString()));
  return shape;
}

Status RowShape::MakeParts(const StateDescriptor& state) {
  if (state.space.size() > 0) {
    FLINT_ASSIGN_OR_RETURN(space_, KeySchema::Canonical(state.space));
  }
  if (state.user_key.size() > 0) {
    FLINT_ASSIGN_OR_RETURN(user_key_, UserKeySchema(state));
  }
  if (kind_ == StateKind::kTimers) return {};
  FLINT_ASSIGN_OR_RETURN(rows_, RowSchema::Make(state.value));
  if (state.function.empty()) return {};
  FLINT_ASSIGN_OR_RETURN(Reducer reducer, Reducer::Make(state.function, state.value[0].type));
  operand_head_ = reducer.Operand({});
  return {};
}

Status RowShape::Check(const Change& change, uint64_t next_element) {
  FLINT_RETURN_IF_ERROR(CheckOperation(change.kind));
  if (change.kind == ChangeKind::kDeleteRange) return CheckRange(change);
  std::string_view suffix;
  bool many = user_key_ || HasElements(kind_);
  FLINT_RETURN_IF_ERROR(many ? TakeKnownHead(change, &suffix) : TakeHead(change, &suffix));
  FLINT_RETURN_IF_ERROR(TakeSuffix(suffix, next_element));
  if (change.kind == ChangeKind::kPut) return CheckValue(change.value);
  if (change.kind != ChangeKind::kMerge) return {};
  if (!IsOurOperand(change.value)) return Wrong("its operand is none of the state's function");
  return CheckRow(change.value.substr(kOperandHead));
}

Status RowShape::CheckOperation(ChangeKind operation) const {
  bool right = false;
  switch (operation) {
    case ChangeKind::kPut:
    case ChangeKind::kDelete:
      right = true;
      break;
    case ChangeKind::kMerge:
      right = !operand_head_.empty();
      break;
    case ChangeKind::kDeleteRange:
      right = HasElements(kind_) || kind_ == StateKind::kMap;
      break;
    case ChangeKind::kMetadata:
      break;
  }
  if (right) return {};
  return Wrong("a " + std::string(KindName(kind_)) + " state has no operation " +
               std::to_string(static_cast<unsigned>(operation)));
}

// The rows of one key in one namespace, or some of them.
Status RowShape::CheckRange(const Change& change) const {
  std::string_view suffix;
  FLINT_RETURN_IF_ERROR(TakeHead(change, &suffix));
  std::string_view head = change.key.substr(0, change.key.size() - suffix.size());
  if (change.value < change.key) return Wrong("its range ends before it begins");
  if (change.value <= PrefixSuccessor(head)) return {};
  return Wrong("its range ends behind the rows of its key");
}

// Rows come in order, so those of a key follow each other. Encoded values say where they end: what
// begins with a head that was right has that head.
Status RowShape::TakeKnownHead(const Change& change, std::string_view* suffix) {
  if (!head_.empty() && change.group == head_group_ && change.key.starts_with(head_)) {
    *suffix = change.key.substr(head_.size());
    return {};
  }
  FLINT_RETURN_IF_ERROR(TakeHead(change, suffix));
  head_.assign(change.key.substr(0, change.key.size() - suffix->size()));
  head_group_ = change.group;
  return {};
}

Status RowShape::TakeHead(const Change& change, std::string_view* suffix) const {
  std::string_view rest = change.key;
  const size_t group_bytes = GroupBytes(max_parallelism_);
  if (rest.size() < group_bytes) return Wrong("its key is too short for a key group");
  uint16_t group = GroupOf(rest, group_bytes);
  if (group != change.group) {
    return Wrong("its key begins with " + GroupText(group) + ", and it is of " +
                 GroupText(change.group));
  }
  rest.remove_prefix(group_bytes);
  if (kind_ == StateKind::kTimers) {
    if (rest.size() < kNumberBytes) return Wrong("its key is too short for a timer's time");
    rest.remove_prefix(kNumberBytes);
  }
  KeyReader reader(rest);
  for (const KeyPart& part : key_->parts()) {
    FLINT_RETURN_IF_ERROR(reader.TakeCell(part, nullptr));
  }
  std::string_view key = rest.substr(0, rest.size() - reader.rest().size());
  uint64_t hash = Xxh64(key, KeyGroupHash::kSeed);
  auto belongs = static_cast<uint16_t>(hash % static_cast<uint64_t>(max_parallelism_));
  if (belongs != group) {
    return Wrong("its key belongs to " + GroupText(belongs) + ", not to " + GroupText(group));
  }
  if (space_) FLINT_RETURN_IF_ERROR(reader.TakeCell(space_->part(0), nullptr));
  *suffix = reader.rest();
  return {};
}

Status RowShape::TakeSuffix(std::string_view suffix, uint64_t next_element) const {
  if (user_key_) {
    KeyReader reader(suffix);
    for (const KeyPart& part : user_key_->parts()) {
      FLINT_RETURN_IF_ERROR(reader.TakeCell(part, nullptr));
    }
    suffix = reader.rest();
  }
  if (HasElements(kind_)) {
    if (suffix.size() != kNumberBytes) return Wrong("its key does not end in an element number");
    uint64_t element = LoadBigEndian(suffix.data());
    if (element < next_element) return {};
    return Wrong("its element number " + std::to_string(element) + " was not given yet");
  }
  if (suffix.empty()) return {};
  return Wrong(std::to_string(suffix.size()) + " bytes follow its key");
}

bool RowShape::IsOurOperand(std::string_view bytes) const {
  return !operand_head_.empty() && bytes.starts_with(operand_head_) && IsOperand(bytes);
}

Status RowShape::CheckValue(std::string_view stored) const {
  if (rows_ == nullptr) {
    return stored == std::string_view(&kPlainTag, 1) ? Status() : Wrong("a timer has no value");
  }
  if (stored.starts_with(kOperandTag) && !IsOurOperand(stored)) {
    return Wrong("its value is an operand, and none of the state's function");
  }
  std::string_view row = RowOf(stored);
  return row.empty() ? Wrong("its value has no row") : CheckRow(row);
}

Status RowShape::CheckRow(std::string_view row) const {
  RowReader reader(*rows_);
  FLINT_RETURN_IF_ERROR(reader.Open(row));
  bool null = false;
  std::string_view value;
  FLINT_RETURN_IF_ERROR(reader.Read(0, &null, &value));
  if (null || !rows_->columns()[0].type.IsString() || IsUtf8(value)) return {};
  return Wrong("its value is a string that is not UTF-8");
}

}  // namespace flint
