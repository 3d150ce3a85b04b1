#pragma once

#include <optional>

#include "bindings/column_objects.h"
#include "bindings/pybind.h"

namespace flint {

// What a user's function puts out, call after call: rows that fit as they are become columns at
// once. All calls need the GIL.
class PutOut {
 public:
  // `output` is the schema.
  explicit PutOut(py::handle output);

  // All that a call's result gives: an iterable, or None.
  void TakeAll(const py::object& result);
  // Whether it is time to hand it on.
  bool HasEnough() const;
  // What was taken since the last time: (batch, misfits), an array of structs, or None, and behind
  // it rows that have to be converted, as a list. None where nothing was.
  py::object Finish();

 private:
  int64_t Gathered() const { return gatherer_ ? gatherer_->size() : 0; }
  void Take(py::object row);

  Field output_;
  std::optional<RowGatherer> gatherer_;
  py::list misfits_;
};

}  // namespace flint
