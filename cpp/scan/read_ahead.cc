#include "scan/read_ahead.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/fork.h"
#include "scan/range_split.h"

namespace flint {
namespace {

// Behind all keys, or so nearly that sizes don't tell.
std::string UpperOf(const KeyRange& range) { return range.upper.value_or(std::string(64, '\xff')); }

}  // namespace

// A part on its way: whoever does the task fills it in.
struct ReadAhead::Job {
  RangePart part;
  Status status;
  std::shared_ptr<Task> task;
};

std::unique_ptr<ReadAhead> ReadAhead::Make(std::shared_ptr<const ScanPlan> plan,
                                           const RangeReader& reader, const BatchLimits& limits) {
  if (plan->table().database()->helpers().threads() < 2 || reader.rows_done() == 0) return nullptr;
  std::unique_ptr<ReadAhead> ahead(new ReadAhead(std::move(plan), reader.Rest(), limits));
  const KeyRange done = reader.Done();
  const auto read = static_cast<double>(ahead->SizeOf(done.lower, UpperOf(done)));
  double parts = static_cast<double>(limits.rows) / static_cast<double>(reader.rows_done());
  if (reader.bytes_done() > 0) {
    parts = std::min(parts,
                     static_cast<double>(limits.bytes) / static_cast<double>(reader.bytes_done()));
  }
  ahead->part_bytes_ = static_cast<uint64_t>(read * parts / 2);
  const KeyRange& rest = *ahead->rest_;
  const uint64_t left = ahead->SizeOf(rest.lower, UpperOf(rest));
  ahead->fill_cache_ = left <= ahead->plan_->table().database()->memory().bytes();
  const bool worth_it = ahead->part_bytes_ > 0 && left > ahead->part_bytes_;
  if (!worth_it || !ahead->Tighten()) return nullptr;
  return ahead;
}

ReadAhead::ReadAhead(std::shared_ptr<const ScanPlan> plan, KeyRange rest, const BatchLimits& limits)
    : plan_(std::move(plan)),
      limits_(limits),
      generation_(ForkGeneration()),
      rest_(std::move(rest)) {}

ReadAhead::~ReadAhead() {
  if (ForkGeneration() != generation_) {
    // Nobody in this process will end what was under way in the parent.
    for (auto& job : jobs_) static_cast<void>(job.release());
    return;
  }
  stop_.store(true);
  for (auto& job : jobs_) job->task->Cancel();
}

uint64_t ReadAhead::SizeOf(std::string_view lower, std::string_view upper) const {
  const Table& table = plan_->table();
  return table.database()->ApproximateBytes(table.family(), lower, upper);
}

// Brings the far end of the rest to where its last row is, so that keys between its ends are
// likely ones. False where there is no row.
bool ReadAhead::Tighten() {
  const Table& table = plan_->table();
  CursorOptions options;
  options.lower = rest_->lower;
  options.upper = rest_->upper.value_or("");
  options.snapshot = plan_->snapshot();
  auto cursor = table.database()->NewCursor(table.family(), std::move(options));
  if (!cursor.ok()) return false;
  auto* it = (*cursor)->iterator();
  if (plan_->reverse())
    it->SeekToFirst();
  else
    it->SeekToLast();
  if (!it->Valid()) return false;
  const std::string far = it->key().ToString();
  if (plan_->reverse())
    rest_->lower = far;
  else
    rest_->upper = far + '\0';
  return true;
}

// Takes the next part off the rest.
KeyRange ReadAhead::Cut() {
  KeyRange part = *rest_;
  const bool reverse = plan_->reverse();
  auto at = SplitRange(part.lower, *part.upper, part_bytes_, reverse,
                       [this](auto lower, auto upper) { return SizeOf(lower, upper); });
  if (!at) {
    rest_.reset();
  } else if (reverse) {
    part.lower = rest_->upper.emplace(*at);
  } else {
    part.upper = rest_->lower = *at;
  }
  return part;
}

Status ReadAhead::Run(RangePart* part) const {
  FLINT_ASSIGN_OR_RETURN(auto pin, plan_->table().database()->Enter());
  FLINT_ASSIGN_OR_RETURN(part->reader, RangeReader::Open(plan_, part->range, fill_cache_));
  // Room is made for so much; of a part that is larger than it was taken for, the rest follows.
  const BatchLimits limits = {limits_.rows - limits_.rows / 4, limits_.bytes - limits_.bytes / 4};
  FLINT_ASSIGN_OR_RETURN(part->batch, part->reader->Read(limits, &stop_));
  return {};
}

void ReadAhead::Offer(int64_t rows) {
  Helpers& helpers = plan_->table().database()->helpers();
  // A second one for each thread: it may be done with its first before this one comes back here.
  const auto most = static_cast<size_t>(helpers.threads()) * 2;
  while (rest_ && jobs_.size() < most && rows / limits_.rows > static_cast<int64_t>(jobs_.size())) {
    auto job = std::make_unique<Job>();
    job->part.range = Cut();
    job->task = std::make_shared<Task>([this, job = job.get()] { job->status = Run(&job->part); });
    jobs_.push_back(std::move(job));
    helpers.Offer(jobs_.back()->task);
  }
}

Result<std::optional<RangePart>> ReadAhead::Next(int64_t rows) {
  Offer(rows);
  std::optional<RangePart> part;
  if (!jobs_.empty()) {
    // What a helper is at is not waited for as long as there is something to do meanwhile.
    Job& first = *jobs_.front();
    for (size_t i = 0; i < jobs_.size() && !first.task->done(); ++i) jobs_[i]->task->TryRun();
    first.task->Wait();
    FLINT_RETURN_IF_ERROR(first.status);
    part = std::move(first.part);
    jobs_.pop_front();
  } else if (rest_) {
    part.emplace();
    part->range = *std::exchange(rest_, std::nullopt);
    FLINT_ASSIGN_OR_RETURN(part->reader, RangeReader::Open(plan_, part->range, fill_cache_));
  }
  return part;
}

}  // namespace flint
