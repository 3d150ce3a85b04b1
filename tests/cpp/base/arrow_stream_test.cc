#include "base/arrow_stream.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "base/arrow_builder.h"
#include "base/arrow_column.h"

namespace flint {
namespace {

const Schema kSchema{{{"a", DataType(TypeId::kInt64), true}}};

// Counts up, a row a batch, and then ends or fails.
class Counting : public BatchSource {
 public:
  Counting(int64_t batches, Status end, bool* gone)
      : batches_(batches), end_(std::move(end)), gone_(gone) {}
  ~Counting() override { *gone_ = true; }

  const Schema& schema() const override { return kSchema; }
  Result<std::optional<OwnedArray>> Next() override {
    if (next_ == batches_ && !end_.ok()) return end_;
    if (next_ == batches_) return std::optional<OwnedArray>();
    BatchBuilder builder(kSchema);
    builder.column(0).Append(next_++);
    return std::optional(builder.Finish(1));
  }

 private:
  int64_t batches_;
  Status end_;
  bool* gone_;
  int64_t next_ = 0;
};

OwnedStream Exported(std::shared_ptr<BatchSource> source) {
  ArrowArrayStream stream;
  ExportStream(std::move(source), &stream);
  return OwnedStream(&stream);
}

TEST(AStream, GivesItsBatchesInOrderAndThenEnds) {
  bool gone = false;
  auto stream = ImportStream(Exported(std::make_shared<Counting>(3, Status(), &gone)));
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream)->schema(), kSchema);
  for (int64_t i = 0; i < 3; ++i) {
    std::optional<OwnedArray> batch = *(*stream)->Next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(BatchView::Make(kSchema, **batch)->columns[0].Values<int64_t>()[0], i);
  }
  EXPECT_FALSE((*stream)->Next()->has_value());
  EXPECT_FALSE(gone);
}

TEST(AStream, OwnsItsSourceUntilItIsReleased) {
  bool gone = false;
  {
    OwnedStream stream = Exported(std::make_shared<Counting>(1, Status(), &gone));
    EXPECT_FALSE(gone);
  }
  EXPECT_TRUE(gone);
}

TEST(ABatch, OutlivesTheStreamItCameFrom) {
  bool gone = false;
  std::optional<OwnedArray> batch;
  {
    auto stream = ImportStream(Exported(std::make_shared<Counting>(1, Status(), &gone)));
    batch = *(*stream)->Next();
  }
  EXPECT_TRUE(gone);
  EXPECT_EQ(BatchView::Make(kSchema, **batch)->num_rows, 1);
}

TEST(AStreamsError, KeepsItsKindAndMessageOnTheWay) {
  for (const Status& error :
       {Status::Invalid("a"), Status::NotFound("b"), Status::Busy("c"), Status::IO("d"),
        Status::Corruption("e"), Status::Closed("f"), Status::Internal("g")}) {
    bool gone = false;
    auto stream = ImportStream(Exported(std::make_shared<Counting>(0, error, &gone)));
    auto next = (*stream)->Next();
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.status().kind(), error.kind());
    EXPECT_EQ(next.status().message(), error.message());
  }
}

// A source that throws.
template <class Thrown>
class Throwing : public BatchSource {
 public:
  explicit Throwing(Thrown thrown) : thrown_(std::move(thrown)) {}
  const Schema& schema() const override { throw thrown_; }
  Result<std::optional<OwnedArray>> Next() override { throw thrown_; }

 private:
  Thrown thrown_;
};

template <class Thrown>
std::pair<int, std::string> WhatComesOf(Thrown thrown) {
  OwnedStream stream = Exported(std::make_shared<Throwing<Thrown>>(std::move(thrown)));
  ArrowSchema schema;
  ArrowArray array;
  int error = stream->get_schema(stream.get(), &schema);
  EXPECT_EQ(schema.release, nullptr);
  EXPECT_EQ(stream->get_next(stream.get(), &array), error);
  EXPECT_EQ(array.release, nullptr);
  return {error, stream->get_last_error(stream.get())};
}

TEST(AStream, ThrowsNothingThroughItsCallbacks) {
  auto [code, message] = WhatComesOf(std::bad_alloc());
  EXPECT_EQ(code, ENOMEM);
  EXPECT_EQ(message.substr(0, 18), "[io] out of memory");
  std::tie(code, message) = WhatComesOf(std::runtime_error("what was it"));
  EXPECT_EQ(code, EIO);
  EXPECT_EQ(message, "[internal] what was it");
  EXPECT_EQ(WhatComesOf(7).first, ENOMEM);
}

TEST(OneBatch, IsASourceThatGivesItOnce) {
  BatchBuilder builder(kSchema);
  builder.column(0).Append(int64_t{5});
  auto source = SourceOfOne(kSchema, builder.Finish(1));
  EXPECT_TRUE((*source->Next()).has_value());
  EXPECT_FALSE((*source->Next()).has_value());
}

}  // namespace
}  // namespace flint
