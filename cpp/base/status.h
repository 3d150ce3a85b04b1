#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace flint {

// What went wrong, said as what the caller can do about it. Seven kinds, and no more.
enum class ErrorKind : unsigned char {
  kInvalid,     // The request is wrong: mend it.
  kNotFound,    // What was named is not there.
  kBusy,        // Someone else holds it: try again later.
  kIO,          // The system refused (disk, permissions): mend the system.
  kCorruption,  // Stored bytes are damaged: restore from elsewhere.
  kClosed,      // The object was closed: open it again.
  kInternal,    // A bug in flintstate: report it.
};

// The outcome of an operation: ok, or a kind and a message that says what, where and what to do.
// Ok costs a null pointer. May be copied and handed between threads freely.
class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status Ok() { return {}; }
  static Status Invalid(std::string message) { return {ErrorKind::kInvalid, std::move(message)}; }
  static Status NotFound(std::string message) { return {ErrorKind::kNotFound, std::move(message)}; }
  static Status Busy(std::string message) { return {ErrorKind::kBusy, std::move(message)}; }
  // `error_number`: the system's errno; 0 where it gave none.
  static Status IO(std::string message, int error_number = 0) {
    return {ErrorKind::kIO, std::move(message), error_number};
  }
  static Status Corruption(std::string message) {
    return {ErrorKind::kCorruption, std::move(message)};
  }
  static Status Closed(std::string message) { return {ErrorKind::kClosed, std::move(message)}; }
  static Status Internal(std::string message) { return {ErrorKind::kInternal, std::move(message)}; }

  bool ok() const { return error_ == nullptr; }
  // All require !ok().
  ErrorKind kind() const { return error_->kind; }
  const std::string& message() const { return error_->message; }
  int error_number() const { return error_->number; }

  // The same error with "where: " before its message; ok stays ok.
  Status WithContext(std::string_view where) const {
    if (ok()) return *this;
    return {kind(), std::string(where) + ": " + message(), error_number()};
  }

 private:
  struct Error {
    ErrorKind kind;
    int number;
    std::string message;
  };
  Status(ErrorKind kind, std::string message, int number = 0)
      : error_(std::make_shared<const Error>(Error{kind, number, std::move(message)})) {}

  std::shared_ptr<const Error> error_;
};

// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : outcome_(std::in_place_index<1>, std::move(value)) {}  // NOLINT: implicit
  Result(Status status) : outcome_(std::in_place_index<0>, std::move(status)) {}  // NOLINT

  bool ok() const { return outcome_.index() == 1; }
  Status status() const { return ok() ? Status() : std::get<0>(outcome_); }

  // All require ok().
  T& operator*() & { return *std::get_if<1>(&outcome_); }
  const T& operator*() const& { return *std::get_if<1>(&outcome_); }
  T&& operator*() && { return std::move(*std::get_if<1>(&outcome_)); }
  T* operator->() { return std::get_if<1>(&outcome_); }
  const T* operator->() const { return std::get_if<1>(&outcome_); }

 private:
  std::variant<Status, T> outcome_;
};

#define FLINT_CONCAT_INNER(a, b) a##b
#define FLINT_CONCAT(a, b) FLINT_CONCAT_INNER(a, b)

// Leaves the function with the error, if there is one.
#define FLINT_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                        \
    if (::flint::Status flint_status = (expression); !flint_status.ok()) return flint_status; \
  } while (false)

// FLINT_ASSIGN_OR_RETURN(auto file, File::Open(path)): the value, or out with the error.
#define FLINT_ASSIGN_OR_RETURN(target, expression) \
  FLINT_ASSIGN_OR_RETURN_IMPL(FLINT_CONCAT(flint_result_, __LINE__), target, expression)
#define FLINT_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                   \
  if (!result.ok()) return result.status();                     \
  target = *std::move(result)

}  // namespace flint
