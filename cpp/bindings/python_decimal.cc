#include "bindings/python_decimal.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "bindings/python_scalar.h"

namespace flint {
namespace {

constexpr Py_ssize_t kExponentMax = 200;  // past any type's digits

py::object DecimalType() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> storage;
  return storage
      .call_once_and_store_result([] { return py::module_::import("decimal").attr("Decimal"); })
      .get_stored();
}

// 10**power, as a Python int.
py::object PowerOfTen(Py_ssize_t power) { return py::int_(10).attr("__pow__")(power); }

// value * 10**shift; none where that is no whole number.
py::object Shifted(const py::object& integer, Py_ssize_t shift) {
  if (PyObject_IsTrue(integer.ptr()) == 0 || shift == 0) return integer;
  if (shift > kExponentMax || shift < -kExponentMax) return py::object();
  if (shift > 0) return integer * PowerOfTen(shift);
  py::object unit = PowerOfTen(-shift);
  if (PyObject_IsTrue(integer.attr("__mod__")(unit).ptr()) != 0) return py::object();
  return integer.attr("__floordiv__")(unit);
}

// The integer that the type stores for `value`; none where it is not a whole number of units.
py::object Unscaled(const DataType& type, const py::object& value) {
  if (PyLong_Check(value.ptr())) return Shifted(value, type.scale);
  py::tuple parts = value.attr("as_tuple")();
  if (!PyLong_Check(parts[2].ptr())) return py::object();  // NaN, Infinity
  std::string digits;
  for (py::handle digit : parts[1]) digits += static_cast<char>('0' + digit.cast<int>());
  py::object integer = py::int_(py::str(digits.empty() ? "0" : digits));
  if (parts[0].cast<int>() != 0) integer = -integer;
  return Shifted(integer, parts[2].cast<Py_ssize_t>() + type.scale);
}

}  // namespace

Status DecimalToSlot(const DataType& type, PyObject* value, char* slot) {
  bool is_int = PyLong_Check(value) && !PyBool_Check(value);
  if (!is_int && PyObject_IsInstance(value, DecimalType().ptr()) != 1) {
    return WrongValue(type.ToString(), value);
  }
  try {
    auto width = type.FixedWidth();
    py::object integer = Unscaled(type, py::reinterpret_borrow<py::object>(value));
    if (!integer) return WrongValue(type.ToString() + ", whole at its scale", value);
    py::object size = py::reinterpret_steal<py::object>(PyNumber_Absolute(integer.ptr()));
    if (size >= PowerOfTen(type.precision)) {
      return WrongValue(type.ToString() + ", within its precision", value);
    }
    py::bytes bytes = integer.attr("to_bytes")(width, "little", py::arg("signed") = true);
    std::memcpy(slot, PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(width));
    return Status();
  } catch (const py::error_already_set&) {
    return WrongValue(type.ToString(), value);
  }
}

Result<PyObject*> DecimalFromSlot(const DataType& type, const char* slot) {
  try {
    py::bytes bytes(slot, static_cast<size_t>(type.FixedWidth()));
    py::object from_bytes =
        py::reinterpret_borrow<py::object>((PyObject*)&PyLong_Type).attr("from_bytes");
    py::object integer = from_bytes(bytes, "little", py::arg("signed") = true);
    std::string text = py::str(integer).cast<std::string>() + "E" + std::to_string(-type.scale);
    return DecimalType()(text).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return TakePythonError("reading a decimal");
  }
}

}  // namespace flint
