#include <memory>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/put_out.h"
#include "bindings/state_common.h"

namespace flint {
namespace {

// Calls a function for each timer that is due, and gathers what it puts out.
class TimerLoop {
 public:
  TimerLoop(std::shared_ptr<BackendBinding> owner, py::handle output, py::object context)
      : owner_(std::move(owner)), put_out_(output), context_(std::move(context)) {}

  // Begins with the timers of a domain that are due at `until`.
  void Begin(int64_t until, bool event_time, py::object function) {
    until_ = until;
    domain_ = event_time ? TimeDomain::kEvent : TimeDomain::kProcessing;
    function_ = std::move(function);
  }

  // Goes on until there is enough put out, or no timer left, and returns as PutOut::Finish does.
  py::object Next() {
    while (!put_out_.HasEnough()) {
      auto due = Unwrap(owner_->TimersOf(domain_).TakeDue(until_));
      if (!due) {
        owner_->LeaveTimers();
        break;
      }
      owner_->EnterTimer(*due, domain_);
      context_.attr("current_key") = owner_->keys().Decode(due->key);
      put_out_.TakeAll(function_(due->time, context_));
    }
    return put_out_.Finish();
  }

 private:
  std::shared_ptr<BackendBinding> owner_;
  PutOut put_out_;
  const py::object context_;
  py::object function_;
  int64_t until_ = 0;
  TimeDomain domain_ = TimeDomain::kEvent;
};

}  // namespace

void BindTimerLoop(py::module_& m) {
  py::class_<TimerLoop>(m, "TimerLoop")
      .def(py::init<std::shared_ptr<BackendBinding>, py::handle, py::object>(), py::arg("backend"),
           py::arg("output"), py::arg("context"))
      .def("begin", &TimerLoop::Begin, py::arg("until"), py::kw_only(), py::arg("event_time"),
           py::arg("function"))
      .def("next", &TimerLoop::Next);
}

}  // namespace flint
