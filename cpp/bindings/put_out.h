#pragma once

#include "bindings/column_objects.h"
#include "bindings/pybind.h"

namespace flint {

// What a user's function puts out, call after call: tuples that become columns at once. All calls
// need the GIL.
class PutOut {
 public:
  // `output` is the schema.
  explicit PutOut(py::handle output);

  // All that a call of `function` returned: an iterable of tuples, or None. Throws what the
  // iterable raises, and InvalidError for what is no tuple, or does not fit.
  void TakeAll(const py::object& result, py::handle function);
  // Whether it is time to hand it on.
  bool HasEnough() const;
  // What was taken since the last time, an array of structs; None where nothing was.
  py::object Finish();

 private:
  void Take(py::object row);

  Field output_;
  RowGatherer gatherer_;
};

}  // namespace flint
