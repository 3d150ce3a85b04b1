#include "bindings/state_log.h"

#include "changelog/format.h"

namespace flint {

static_assert(kChangeBytesMax == changelog::kRecordBytesMax);

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(
    const std::string& path, const changelog::WriterOptions& options, bool sync,
    changelog::Segment* written) {
  FLINT_ASSIGN_OR_RETURN(auto writer, changelog::Writer::Create(path, options));
  return std::unique_ptr<SegmentWriter>(new SegmentWriter(std::move(writer), sync, written));
}

Status SegmentWriter::Append(const Change& change) {
  auto operation = static_cast<changelog::Operation>(change.kind);
  return writer_->Append({0, operation, change.group, change.table, change.key, change.value})
      .status();
}

Result<uint64_t> SegmentWriter::Finish() {
  auto durability = sync_ ? changelog::Durability::kMachine : changelog::Durability::kProcess;
  FLINT_ASSIGN_OR_RETURN(*written_, writer_->Close(durability));
  return written_->last_sequence();
}

Result<std::unique_ptr<SegmentSource>> SegmentSource::Open(
    const std::string& path, const std::optional<changelog::Segment>& expected) {
  changelog::ReadOptions options;
  options.expected = expected;
  FLINT_ASSIGN_OR_RETURN(auto reader, changelog::Reader::Open(path, options));
  if (reader->torn()) {
    return Status::Corruption(path + ": the segment has no end: its writer died, or still writes");
  }
  return std::unique_ptr<SegmentSource>(new SegmentSource(path, reader->segment()));
}

Status SegmentSource::ForEach(uint16_t first, uint16_t last,
                              const std::function<Status(const Change&)>& visit) {
  changelog::ReadOptions options;
  options.groups = {first, last};
  options.expected = segment_;
  FLINT_ASSIGN_OR_RETURN(auto reader, changelog::Reader::Open(path_, options));
  changelog::RecordBlock block;
  while (true) {
    FLINT_ASSIGN_OR_RETURN(bool more, reader->Next(&block));
    if (!more) return {};
    Status status;
    block.ForEach([&](const changelog::Record& record) {
      auto kind = static_cast<ChangeKind>(record.operation);
      if (!status.ok()) return;
      status = visit({kind, record.group, record.table, record.key, record.value, record.sequence});
    });
    FLINT_RETURN_IF_ERROR(status);
  }
}

}  // namespace flint
