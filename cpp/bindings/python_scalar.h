#pragma once

#include <string>

#include "base/arrow_type.h"
#include "base/status.h"
#include "bindings/pybind.h"

namespace flint {

// Whether an int is taken for a time, as the count of its type's units: in keys and tables. Not in
// what functions deal with, states and rows that they put out: to them times are milliseconds.
enum class Counts { kTaken, kRefused };

// One value of fixed width between a Python object and an Arrow slot, exactly: what would lose
// something is refused, never rounded (but float64 to a narrower float, as numpy does).
//
//   bool                  bool; a slot of one byte
//   integers              int, or anything with __index__ that is not a bool
//   floats                float, or an int that the type holds exactly
//   decimals              decimal.Decimal, or int; digits that don't fit are refused
//   fixed-size binary     bytes, bytearray, memoryview of just that size
//   date32, date64        datetime.date, but not datetime.datetime
//   time32, time64        datetime.time without a zone
//   timestamp             datetime.datetime: with a zone just where the type has one, and then
//                         given back in the type's zone
//   duration              datetime.timedelta
// Dates, times, timestamps and durations are also taken as an int, the count of the type's units,
// where counts are (Counts). What Python's datetime can't hold (nanoseconds, years past 9999) comes
// as numpy.datetime64 or numpy.timedelta64 of the type's unit, and these are taken, too. numpy's
// own scalars are taken for numbers.
//
// All calls need the GIL. Immutable.
class PythonScalar {
 public:
  // `type` is plain and of fixed width, or bool. Invalid where its time zone is unknown.
  static Result<PythonScalar> Make(const DataType& type, Counts counts);

  // Invalid: "expected int32, got str 'x'". The slot is then undefined; no Python error is set.
  Status ToSlot(PyObject* value, char* slot) const;
  // A new reference.
  Result<PyObject*> FromSlot(const char* slot) const;

 private:
  PythonScalar(const DataType& type, Counts counts) : type_(type), counts_(counts) {}

  DataType type_;
  Counts counts_;
  py::object zone_;  // tzinfo, of a timestamp with one
};

// "expected int32, got str 'x'": the value's repr cut short. Clears Python's error.
Status WrongValue(const std::string& expected, PyObject* value);

// The value's repr, cut short where it is longer than that; empty where it raises. Clears Python's
// error.
std::string ShortRepr(PyObject* value, size_t bytes_max);

// Turns the Python error that is set into a Status, and clears it.
Status TakePythonError(const std::string& doing);

}  // namespace flint
