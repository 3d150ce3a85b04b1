#include "base/arrow_stream.h"

#include <cerrno>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/interrupt.h"

namespace flint {
namespace {

struct ExportedStream {
  std::shared_ptr<BatchSource> source;
  std::string last_error;
  const char* told = "";  // last_error's, or what needs no memory to be said
};

ExportedStream* Owned(ArrowArrayStream* stream) {
  return static_cast<ExportedStream*>(stream->private_data);
}

constexpr const char* kKindNames[] = {"invalid",    "not found", "busy",    "io",
                                      "corruption", "closed",    "internal"};

int Fail(ArrowArrayStream* stream, const Status& status) {
  ExportedStream* owned = Owned(stream);
  owned->last_error =
      std::string("[") + kKindNames[static_cast<size_t>(status.kind())] + "] " + status.message();
  owned->told = owned->last_error.c_str();
  if (status.kind() == ErrorKind::kInvalid) return EINVAL;
  return status.error_number() != 0 ? status.error_number() : EIO;
}

// Whoever calls through C's frames can't catch: what is thrown ends here, as an error of the
// stream.
template <class Work>
int Guarded(ArrowArrayStream* stream, Work work) noexcept {
  try {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return Fail(stream, Status::Internal(error.what()));
    }
  } catch (...) {
    Owned(stream)->told = "[io] out of memory: raise the limit, or read smaller batches";
    return ENOMEM;
  }
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  *out = ArrowSchema{};
  return Guarded(stream, [&] {
    ExportSchema(Owned(stream)->source->schema(), out);
    return 0;
  });
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  *out = ArrowArray{};
  return Guarded(stream, [&] {
    Result<std::optional<OwnedArray>> next = Owned(stream)->source->Next();
    if (!next.ok()) return Fail(stream, next.status());
    if (next->has_value()) (*next)->MoveTo(out);
    return 0;
  });
}

const char* GetLastError(ArrowArrayStream* stream) noexcept { return Owned(stream)->told; }

void Release(ArrowArrayStream* stream) {
  delete Owned(stream);
  stream->release = nullptr;
}

Status MakeStatus(ErrorKind kind, std::string message, int code) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return Status::Invalid(std::move(message));
    case ErrorKind::kNotFound:
      return Status::NotFound(std::move(message));
    case ErrorKind::kBusy:
      return Status::Busy(std::move(message));
    case ErrorKind::kIO:
      return Status::IO(std::move(message), code == EIO ? 0 : code);
    case ErrorKind::kCorruption:
      return Status::Corruption(std::move(message));
    case ErrorKind::kClosed:
      return Status::Closed(std::move(message));
    case ErrorKind::kInternal:
      return Status::Internal(std::move(message));
  }
  return Status::Internal(std::move(message));
}

Status StreamError(OwnedStream* stream, int code) {
  const char* text = (*stream)->get_last_error(stream->get());
  std::string message = text != nullptr ? text : "no reason was given";
  for (size_t kind = 0; kind < std::size(kKindNames); ++kind) {
    std::string prefix = std::string("[") + kKindNames[kind] + "] ";
    if (message.starts_with(prefix)) {
      return MakeStatus(static_cast<ErrorKind>(kind), message.substr(prefix.size()), code);
    }
  }
  return Status::Invalid("the input stream failed: " + message);
}

class ImportedStream : public BatchSource {
 public:
  ImportedStream(Schema schema, OwnedStream stream)
      : schema_(std::move(schema)), stream_(std::move(stream)) {}

  const Schema& schema() const override { return schema_; }
  Result<std::optional<OwnedArray>> Next() override {
    ArrowArray array{};
    const int code = stream_->get_next(stream_.get(), &array);
    if (code != 0) return StreamError(&stream_, code);
    if (array.release == nullptr) return std::optional<OwnedArray>();
    return std::optional(OwnedArray(&array));
  }

 private:
  Schema schema_;
  OwnedStream stream_;
};

class CollectedBatches : public BatchSource {
 public:
  CollectedBatches(Schema schema, std::vector<OwnedArray> batches)
      : schema_(std::move(schema)), batches_(std::move(batches)) {}

  const Schema& schema() const override { return schema_; }
  Result<std::optional<OwnedArray>> Next() override {
    if (next_ == batches_.size()) return std::optional<OwnedArray>();
    return std::optional(std::move(batches_[next_++]));
  }

 private:
  Schema schema_;
  std::vector<OwnedArray> batches_;
  size_t next_ = 0;
};

}  // namespace

void ExportStream(std::shared_ptr<BatchSource> source, ArrowArrayStream* out) {
  auto owned = std::make_unique<ExportedStream>();
  owned->source = std::move(source);
  *out = ArrowArrayStream{GetSchema, GetNext, GetLastError, Release, owned.release()};
}

Result<std::unique_ptr<BatchSource>> ImportStream(OwnedStream stream) {
  ArrowSchema arrow_schema{};
  const int code = stream->get_schema(stream.get(), &arrow_schema);
  if (code != 0) return StreamError(&stream, code);
  OwnedSchema owned(&arrow_schema);
  FLINT_ASSIGN_OR_RETURN(Schema schema, Schema::FromArrow(*owned));
  return std::unique_ptr<BatchSource>(
      std::make_unique<ImportedStream>(std::move(schema), std::move(stream)));
}

Result<std::unique_ptr<BatchSource>> Collect(BatchSource* source) {
  std::vector<OwnedArray> batches;
  while (true) {
    FLINT_ASSIGN_OR_RETURN(std::optional<OwnedArray> batch, source->Next());
    if (!batch) break;
    FLINT_RETURN_IF_ERROR(CheckInterrupt());
    batches.push_back(*std::move(batch));
  }
  return std::unique_ptr<BatchSource>(
      std::make_unique<CollectedBatches>(source->schema(), std::move(batches)));
}

std::unique_ptr<BatchSource> SourceOfOne(Schema schema, OwnedArray batch) {
  std::vector<OwnedArray> batches;
  batches.push_back(std::move(batch));
  return std::make_unique<CollectedBatches>(std::move(schema), std::move(batches));
}

}  // namespace flint
