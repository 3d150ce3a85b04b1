#include "state/timers.h"

#include <limits>

#include "key/key_reader.h"

namespace flint {
namespace {

constexpr int64_t kFirstTime = std::numeric_limits<int64_t>::min();
constexpr int64_t kLastTime = std::numeric_limits<int64_t>::max();
constexpr size_t kTimeBytes = 8;

uint64_t Ordered(int64_t time) {
  return static_cast<uint64_t>(time) ^ uint64_t { 1 } << 63;
}

int64_t TimeOf(std::string_view suffix) {
  return static_cast<int64_t>(LoadBigEndian(suffix.data()) ^ uint64_t{1} << 63);
}

}  // namespace

Result<Timers> Timers::Open(Backend* backend, TimeDomain domain, const Schema& space) {
  StateDescriptor state;
  state.kind = StateKind::kTimers;
  state.name = domain == TimeDomain::kEvent ? "timers/event" : "timers/processing";
  state.space = space;
  FLINT_ASSIGN_OR_RETURN(StateTable * table, backend->OpenState(state, {}));
  return Timers(backend, static_cast<OrderedTable*>(table));
}

Timers::Timers(Backend* backend, OrderedTable* table)
    : backend_(backend), table_(table), first_group_(backend->options().first_group) {
  for (int group = first_group_; group <= backend->options().last_group; ++group) {
    bounds_.emplace_back(kFirstTime);
    order_.emplace(kFirstTime, static_cast<uint16_t>(group));
  }
}

std::string Timers::Suffix(int64_t time, std::string_view space) const {
  std::string suffix;
  AppendBigEndian(Ordered(time), &suffix);
  return suffix.append(backend_->context().key.bytes).append(space);
}

Result<OrderedScope*> Timers::ScopeOf(uint16_t group) {
  return table_->Of({{}, uint64_t{group} * 0x9E3779B97F4A7C15ull, group});
}

void Timers::SetBound(uint16_t group, std::optional<int64_t> time) {
  std::optional<int64_t>& bound = bounds_[group - first_group_];
  if (bound) order_.erase({*bound, group});
  bound = time;
  if (bound) order_.emplace(*bound, group);
}

Status Timers::Register(int64_t time, std::string_view space) {
  FLINT_RETURN_IF_ERROR(backend_->context().CheckKey());
  uint16_t group = backend_->context().key.group;
  FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, ScopeOf(group));
  FLINT_RETURN_IF_ERROR(table_->Put(scope, Suffix(time, space), {}, {}));
  const std::optional<int64_t>& bound = bounds_[group - first_group_];
  if (!bound || time < *bound) SetBound(group, time);
  return {};
}

Status Timers::Delete(int64_t time, std::string_view space) {
  FLINT_RETURN_IF_ERROR(backend_->context().CheckKey());
  FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, ScopeOf(backend_->context().key.group));
  return table_->Remove(scope, Suffix(time, space));
}

Result<std::optional<std::pair<uint16_t, std::string>>> Timers::Seek(int64_t until) {
  using Found = std::optional<std::pair<uint16_t, std::string>>;
  while (!order_.empty() && order_.begin()->first <= until) {
    auto [bound, group] = *order_.begin();
    FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, ScopeOf(group));
    SuffixRange range;
    AppendBigEndian(Ordered(bound), &range.from);
    RowBlock rows;
    bool more = false;
    FLINT_RETURN_IF_ERROR(table_->Peek(scope, range, 1, kNoTime, &rows, &more));
    if (rows.empty()) {
      SetBound(group, std::nullopt);
      continue;
    }
    if (rows.suffix(0).size() < kTimeBytes) {
      return Status::Corruption("a timer's row key is too short for its time");
    }
    int64_t time = TimeOf(rows.suffix(0));
    if (time == bound) return Found({group, std::string(rows.suffix(0))});
    SetBound(group, time);
  }
  return Found();
}

Result<std::optional<DueTimer>> Timers::TakeDue(int64_t until) {
  FLINT_RETURN_IF_ERROR(backend_->context().health);
  FLINT_ASSIGN_OR_RETURN(auto found, Seek(until));
  if (!found) return std::optional<DueTimer>();
  const auto& [group, suffix] = *found;
  FLINT_ASSIGN_OR_RETURN(OrderedScope * scope, ScopeOf(group));
  FLINT_RETURN_IF_ERROR(table_->Remove(scope, suffix));
  std::string_view rest = std::string_view(suffix).substr(kTimeBytes);
  KeyReader reader(rest);
  for (const KeyPart& part : backend_->key_schema().parts()) {
    FLINT_RETURN_IF_ERROR(reader.TakeCell(part, nullptr));
  }
  std::string_view space = reader.rest();
  return std::optional<DueTimer>(DueTimer{
      TimeOf(suffix), std::string(rest.substr(0, rest.size() - space.size())), std::string(space)});
}

Result<std::optional<int64_t>> Timers::First() {
  FLINT_RETURN_IF_ERROR(backend_->context().health);
  FLINT_ASSIGN_OR_RETURN(auto found, Seek(kLastTime));
  if (!found) return std::optional<int64_t>();
  return std::optional<int64_t>(TimeOf(found->second));
}

}  // namespace flint
