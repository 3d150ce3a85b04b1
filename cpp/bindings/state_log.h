#pragma once

#include <memory>
#include <optional>
#include <string>

#include "changelog/reader.h"
#include "changelog/writer.h"
#include "state/change_log.h"

namespace flint {

// Changelog segments as a backend's log: the two parts don't know each other, and meet here.

class SegmentWriter : public ChangeWriter {
 public:
  // `written` receives what Finish has written.
  static Result<std::unique_ptr<SegmentWriter>> Create(const std::string& path,
                                                       const changelog::WriterOptions& options,
                                                       bool sync, changelog::Segment* written);
  Status Append(const Change& change) override;
  Result<uint64_t> Finish() override;

 private:
  SegmentWriter(std::unique_ptr<changelog::Writer> writer, bool sync, changelog::Segment* written)
      : writer_(std::move(writer)), sync_(sync), written_(written) {}

  std::unique_ptr<changelog::Writer> writer_;
  bool sync_;
  changelog::Segment* written_;
};

class SegmentSource : public ChangeSource {
 public:
  // `expected` is what a handle says of it. Corruption where it is damaged, or has no end.
  static Result<std::unique_ptr<SegmentSource>> Open(
      const std::string& path, const std::optional<changelog::Segment>& expected);

  std::string name() const override { return path_; }
  std::optional<VersionId> version() const override { return Given(segment_.version); }
  std::optional<VersionId> parent() const override { return Given(segment_.parent); }
  uint64_t first_sequence() const override { return segment_.first_sequence; }
  uint64_t last_sequence() const override { return segment_.last_sequence(); }
  Status ForEach(uint16_t first, uint16_t last,
                 const std::function<Status(const Change&)>& visit) override;

 private:
  SegmentSource(std::string path, changelog::Segment segment)
      : path_(std::move(path)), segment_(std::move(segment)) {}
  static std::optional<VersionId> Given(const changelog::VersionId& id) {
    return id == changelog::VersionId{} ? std::nullopt : std::optional<VersionId>(id);
  }

  std::string path_;
  changelog::Segment segment_;
};

}  // namespace flint
