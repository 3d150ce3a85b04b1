#include <unistd.h>

#if defined(__APPLE__)
#include <pthread.h>
#else
#include <sys/syscall.h>
#endif

#include "bindings/bindings.h"

namespace flint {
namespace {

const char* PythonName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "InvalidError";
    case ErrorKind::kNotFound:
      return "NotFoundError";
    case ErrorKind::kBusy:
      return "BusyError";
    case ErrorKind::kIO:
      return "StorageError";
    case ErrorKind::kCorruption:
      return "CorruptionError";
    case ErrorKind::kClosed:
      return "ClosedError";
    case ErrorKind::kInternal:
      return "InternalError";
  }
  return "InternalError";
}

// Every string handed to Python must be UTF-8: a path or a stored name in a message may not be.
py::str Utf8(const std::string& message) {
  return py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
}

// Python's notion of it, too: where the process began, or the thread that forked it.
bool IsMainThread() {
#if defined(__APPLE__)
  return ::pthread_main_np() != 0;
#else
  return ::syscall(SYS_gettid) == ::getpid();
#endif
}

}  // namespace

bool PythonSignals::Asked() {
  if (!IsMainThread()) return false;
  py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) raised_.emplace();
  return raised_.has_value();
}

// What ends the thread comes as an exception, which must not go on from here.
GilReleased::~GilReleased() {
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {
    while (true) ::pause();
  }
}

GilTaken::GilTaken() {
  try {
    held_.emplace();
  } catch (...) {
    while (true) ::pause();
  }
}

void SetPythonError(const Status& status) {
  py::object type = py::module_::import("flintstate.errors").attr(PythonName(status.kind()));
  py::str message = Utf8(status.message());
  if (status.kind() != ErrorKind::kIO || status.error_number() == 0) {
    return py::set_error(type, message);
  }
  py::set_error(type, py::make_tuple(message, status.error_number()));
}

namespace {

// For tests of this file: raises the error of that kind.
void RaiseError(const std::string& kind, const std::string& message, int error_number) {
  if (kind == "Ok") return Check(Status::Ok());
  if (kind == "Invalid") Check(Status::Invalid(message));
  if (kind == "NotFound") Check(Status::NotFound(message));
  if (kind == "Busy") Check(Status::Busy(message));
  if (kind == "IO") Check(Status::IO(message, error_number));
  if (kind == "Corruption") Check(Status::Corruption(message));
  if (kind == "Closed") Check(Status::Closed(message));
  if (kind == "Internal") Check(Status::Internal(message));
  Check(Status::Invalid("there is no error kind " + kind));
}

}  // namespace

void BindErrors(py::module_& m) {
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      SetPythonError(error.status());
    }
  });
  m.def("_raise_error", &RaiseError, py::arg("kind"), py::arg("message"),
        py::arg("error_number") = 0, py::call_guard<GilReleased>());
}

}  // namespace flint
