#pragma once

// The one include of pybind11, for every binding: so that all of them see the same casters.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "base/interrupt.h"
#include "base/status.h"

namespace flint {

namespace py = pybind11;

// A Status on its way to Python. May be thrown with the GIL released; becomes the subclass of
// flintstate.FlintError that stands for its kind.
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return status_.message().c_str(); }

 private:
  Status status_;
};

// Sets the Python error that stands for `status`: for code that Python calls past pybind11.
void SetPythonError(const Status& status);

// Throws unless ok.
inline void Check(Status status) {
  if (!status.ok()) throw StatusError(std::move(status));
}

// The value, or throws.
template <class T>
T Unwrap(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return *std::move(result);
}

// The thread is without the GIL while one lives. One that takes it back when the interpreter is
// gone, as a daemon thread may, stops there for ever: Python would end it by unwinding its stack,
// which no C++ frame that is `noexcept` survives.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased();
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// The thread has the GIL while one lives, within a GilReleased. It stops as that one does.
class GilTaken {
 public:
  GilTaken();
  GilTaken(const GilTaken&) = delete;
  GilTaken& operator=(const GilTaken&) = delete;

 private:
  std::optional<py::gil_scoped_acquire> held_;
};

// Runs Python's signal handlers for a call under way without the GIL: what one of them raises
// (KeyboardInterrupt) ends the call, and is what the caller then sees. They run on the main thread
// alone, so other threads' calls are not asked. Made and destroyed with the GIL.
class PythonSignals : public InterruptScope {
 public:
  // Throws what a handler raised.
  void Raise() {
    if (raised_) throw *std::exchange(raised_, std::nullopt);
  }

 protected:
  bool Asked() override;

 private:
  std::optional<py::error_already_set> raised_;
};

// Runs `work` (which returns a value, a Status or a Result, and touches no Python object) without
// the GIL. Ctrl-C ends it where it asks CheckInterrupt.
template <class Work>
auto WithoutGil(Work&& work) {
  PythonSignals signals;
  auto outcome = [&] {
    GilReleased release;
    return work();
  }();
  signals.Raise();
  return outcome;
}

}  // namespace flint
