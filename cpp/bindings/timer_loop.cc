#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/put_out.h"
#include "bindings/state_common.h"

namespace flint {
namespace {

// A function registers timers for its own key alone, so a chain without an end comes to one key
// whose timers fire one after another, and none later than all before.
constexpr int kRepeatsMax = 100'000;
constexpr int64_t kBeforeAll = std::numeric_limits<int64_t>::min();

struct Due {
  TimeDomain domain;
  DueTimer timer;
};

// Calls a function for each timer that is due, and gathers what it puts out. Timers that the
// function registers, and that are due, fire too.
class TimerLoop {
 public:
  TimerLoop(std::shared_ptr<BackendBinding> owner, py::handle output, py::object context)
      : owner_(std::move(owner)),
        put_out_(output),
        context_(std::move(context)),
        current_key_(py::reinterpret_steal<py::object>(PyUnicode_InternFromString("current_key"))) {
  }

  // Begins with the event-time timers that are due at `watermark`, if there is one, and behind
  // them those of the clock that are due at `now`.
  void Begin(std::optional<int64_t> watermark, int64_t now, py::object function) {
    watermark_ = watermark;
    now_ = now;
    function_ = std::move(function);
    key_.clear();
    repeats_ = 0;
  }

  // Goes on until there is enough put out, or no timer left, and returns as PutOut::Finish does.
  py::object Next() {
    while (!put_out_.HasEnough()) {
      std::optional<Due> due = Unwrap(TakeDue());
      if (!due) {
        owner_->LeaveTimers();
        break;
      }
      owner_->EnterTimer(due->timer, due->domain);
      py::object key = owner_->keys().Decode(due->timer.key);
      CheckEnds(*due, key);
      if (PyObject_SetAttr(context_.ptr(), current_key_.ptr(), key.ptr()) != 0) {
        throw py::error_already_set();
      }
      put_out_.TakeAll(function_(due->timer.time, context_), function_);
    }
    return put_out_.Finish();
  }

 private:
  Result<std::optional<Due>> TakeDue() {
    if (watermark_) {
      FLINT_ASSIGN_OR_RETURN(auto due, owner_->TimersOf(TimeDomain::kEvent).TakeDue(*watermark_));
      if (due) return std::optional<Due>({TimeDomain::kEvent, *std::move(due)});
    }
    FLINT_ASSIGN_OR_RETURN(auto due, owner_->TimersOf(TimeDomain::kProcessing).TakeDue(now_));
    if (due) return std::optional<Due>({TimeDomain::kProcessing, *std::move(due)});
    return std::optional<Due>();
  }

  // Throws where the timers of a key make one another due for ever.
  void CheckEnds(const Due& due, const py::object& key) {
    if (due.timer.key != key_) {
      key_ = due.timer.key;
      latest_[0] = latest_[1] = kBeforeAll;
    }
    int64_t& latest = latest_[due.domain == TimeDomain::kEvent ? 0 : 1];
    repeats_ = due.timer.time > latest ? 0 : repeats_ + 1;
    latest = std::max(latest, due.timer.time);
    if (repeats_ < kRepeatsMax) return;
    Check(Status::Invalid(
        "on_timer: key " + ShortRepr(key.ptr(), 100) + " has had " + std::to_string(kRepeatsMax) +
        " timers in a row that were due as they were registered, the last at " +
        std::to_string(due.timer.time) +
        ", and none later than those before: a timer has to register a later one, or none"));
  }

  std::shared_ptr<BackendBinding> owner_;
  PutOut put_out_;
  const py::object context_;
  const py::object current_key_;  // the attribute's name
  py::object function_;
  std::optional<int64_t> watermark_;
  int64_t now_ = 0;
  std::string key_;                               // of the timer that fired last
  int64_t latest_[2] = {kBeforeAll, kBeforeAll};  // of that key's in a row, by domain
  int repeats_ = 0;                               // of that key, since there was a later one
};

}  // namespace

void BindTimerLoop(py::module_& m) {
  py::class_<TimerLoop>(m, "TimerLoop")
      .def(py::init<std::shared_ptr<BackendBinding>, py::handle, py::object>(), py::arg("backend"),
           py::arg("output"), py::arg("context"))
      .def("begin", &TimerLoop::Begin, py::arg("watermark"), py::arg("now"), py::arg("function"))
      .def("next", &TimerLoop::Next);
}

}  // namespace flint
