#include "bindings/python_scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "bindings/python_decimal.h"
#include "bindings/python_time.h"

namespace flint {
namespace {

constexpr size_t kReprMax = 60;

template <class T>
void Store(T value, char* slot) {
  std::memcpy(slot, &value, sizeof value);
}

template <class T>
T Load(const char* slot) {
  T value;
  std::memcpy(&value, slot, sizeof value);
  return value;
}

// Numbers of numpy that are no subclasses of Python's own.
bool IsNumpy(PyObject* value) { return std::strncmp(Py_TYPE(value)->tp_name, "numpy.", 6) == 0; }

// An int, or what can stand for one; empty where `value` is neither.
py::object AsInt(PyObject* value) {
  if (PyBool_Check(value)) return py::object();
  if (PyLong_Check(value)) return py::reinterpret_borrow<py::object>(value);
  if (PyIndex_Check(value) == 0) return py::object();
  return py::reinterpret_steal<py::object>(PyNumber_Index(value));
}

Status OutOfRange(const DataType& type, PyObject* value) {
  Status wrong = WrongValue(type.ToString(), value);
  return Status::Invalid(wrong.message() + ", which is out of its range");
}

template <class T>
Status SignedToSlot(const DataType& type, PyObject* value, char* slot) {
  py::object integer = AsInt(value);
  if (!integer) return WrongValue(type.ToString(), value);
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0 || number < std::numeric_limits<T>::min() ||
      number > std::numeric_limits<T>::max()) {
    return OutOfRange(type, value);
  }
  Store(static_cast<T>(number), slot);
  return Status();
}

template <class T>
Status UnsignedToSlot(const DataType& type, PyObject* value, char* slot) {
  py::object integer = AsInt(value);
  if (!integer) return WrongValue(type.ToString(), value);
  unsigned long long number = PyLong_AsUnsignedLongLong(integer.ptr());
  bool failed = number == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr;
  if (failed || number > std::numeric_limits<T>::max()) return OutOfRange(type, value);
  Store(static_cast<T>(number), slot);
  return Status();
}

Status NumberOf(const DataType& type, PyObject* value, double* number) {
  if (PyFloat_Check(value)) {
    *number = PyFloat_AS_DOUBLE(value);
    return Status();
  }
  if (PyLong_Check(value) && !PyBool_Check(value)) {
    *number = PyLong_AsDouble(value);
    bool failed = *number == -1.0 && PyErr_Occurred() != nullptr;
    py::object back;
    if (!failed) back = py::reinterpret_steal<py::object>(PyLong_FromDouble(*number));
    if (failed || PyObject_RichCompareBool(back.ptr(), value, Py_EQ) != 1) {
      return OutOfRange(type, value);
    }
    return Status();
  }
  if (!IsNumpy(value) || PyNumber_Check(value) == 0) return WrongValue(type.ToString(), value);
  *number = PyFloat_AsDouble(value);
  if (*number == -1.0 && PyErr_Occurred() != nullptr) return WrongValue(type.ToString(), value);
  return Status();
}

Status FloatToSlot(const DataType& type, PyObject* value, char* slot) {
  double number = 0;
  FLINT_RETURN_IF_ERROR(NumberOf(type, value, &number));
  if (type.id == TypeId::kFloat64) {
    Store(number, slot);
    return Status();
  }
  bool failed = false;
  if (type.id == TypeId::kFloat32) {
    auto narrow = static_cast<float>(number);
    failed = std::isinf(narrow) && !std::isinf(number);
    Store(narrow, slot);
  } else {
    failed = PyFloat_Pack2(number, slot, 1) != 0;
  }
  if (failed) return OutOfRange(type, value);
  if (PyLong_Check(value)) {
    double back = type.id == TypeId::kFloat32 ? Load<float>(slot) : PyFloat_Unpack2(slot, 1);
    if (back != number) return OutOfRange(type, value);
  }
  return Status();
}

Status BoolToSlot(const DataType& type, PyObject* value, char* slot) {
  if (PyBool_Check(value)) {
    *slot = value == Py_True ? 1 : 0;
    return Status();
  }
  std::string_view name = Py_TYPE(value)->tp_name;
  if (name != "numpy.bool" && name != "numpy.bool_") return WrongValue(type.ToString(), value);
  *slot = PyObject_IsTrue(value) == 1 ? 1 : 0;
  return Status();
}

Status FixedBinaryToSlot(const DataType& type, PyObject* value, char* slot) {
  Py_buffer view;
  if (PyObject_CheckBuffer(value) == 0 || PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) {
    return WrongValue(type.ToString(), value);
  }
  bool fits = view.len == type.size;
  if (fits && view.len > 0) std::memcpy(slot, view.buf, static_cast<size_t>(view.len));
  PyBuffer_Release(&view);
  return fits ? Status() : WrongValue(type.ToString(), value);
}

// Cut at a character, not within one.
std::string Shortened(std::string text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

Status WrongValue(const std::string& expected, PyObject* value) {
  PyErr_Clear();
  if (value == Py_None) return Status::Invalid("expected " + expected + ", got None");
  std::string repr = ShortRepr(value, kReprMax);
  return Status::Invalid("expected " + expected + ", got " + Py_TYPE(value)->tp_name +
                         (repr.empty() ? "" : " " + repr));
}

std::string ShortRepr(PyObject* value, size_t bytes_max) {
  auto text = py::reinterpret_steal<py::object>(PyObject_Repr(value));
  const char* repr = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  PyErr_Clear();
  return repr != nullptr ? Shortened(repr, bytes_max) : "";
}

Status TakePythonError(const std::string& doing) {
  py::error_already_set error;
  return Status::Invalid(doing + ": " + error.what());
}

Result<PythonScalar> PythonScalar::Make(const DataType& type, Counts counts) {
  PythonScalar scalar(type, counts);
  if (type.id == TypeId::kTimestamp) {
    FLINT_ASSIGN_OR_RETURN(scalar.zone_, ZoneOf(type));
  }
  return scalar;
}

Status PythonScalar::ToSlot(PyObject* value, char* slot) const {
  switch (type_.id) {
    case TypeId::kBool:
      return BoolToSlot(type_, value, slot);
    case TypeId::kInt8:
      return SignedToSlot<int8_t>(type_, value, slot);
    case TypeId::kInt16:
      return SignedToSlot<int16_t>(type_, value, slot);
    case TypeId::kInt32:
      return SignedToSlot<int32_t>(type_, value, slot);
    case TypeId::kInt64:
      return SignedToSlot<int64_t>(type_, value, slot);
    case TypeId::kUInt8:
      return UnsignedToSlot<uint8_t>(type_, value, slot);
    case TypeId::kUInt16:
      return UnsignedToSlot<uint16_t>(type_, value, slot);
    case TypeId::kUInt32:
      return UnsignedToSlot<uint32_t>(type_, value, slot);
    case TypeId::kUInt64:
      return UnsignedToSlot<uint64_t>(type_, value, slot);
    case TypeId::kFloat16:
    case TypeId::kFloat32:
    case TypeId::kFloat64:
      return FloatToSlot(type_, value, slot);
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
      return DecimalToSlot(type_, value, slot);
    case TypeId::kFixedBinary:
      return FixedBinaryToSlot(type_, value, slot);
    default:
      if (counts_ == Counts::kRefused && PyLong_Check(value)) {
        return WrongValue(type_.ToString(), value);
      }
      return TemporalToSlot(type_, value, slot);
  }
}

Result<PyObject*> PythonScalar::FromSlot(const char* slot) const {
  switch (type_.id) {
    case TypeId::kBool:
      return Py_NewRef(*slot != 0 ? Py_True : Py_False);
    case TypeId::kInt8:
      return PyLong_FromLong(Load<int8_t>(slot));
    case TypeId::kInt16:
      return PyLong_FromLong(Load<int16_t>(slot));
    case TypeId::kInt32:
      return PyLong_FromLong(Load<int32_t>(slot));
    case TypeId::kInt64:
      return PyLong_FromLongLong(Load<int64_t>(slot));
    case TypeId::kUInt8:
      return PyLong_FromLong(Load<uint8_t>(slot));
    case TypeId::kUInt16:
      return PyLong_FromLong(Load<uint16_t>(slot));
    case TypeId::kUInt32:
      return PyLong_FromUnsignedLong(Load<uint32_t>(slot));
    case TypeId::kUInt64:
      return PyLong_FromUnsignedLongLong(Load<uint64_t>(slot));
    case TypeId::kFloat16:
      return PyFloat_FromDouble(PyFloat_Unpack2(slot, 1));
    case TypeId::kFloat32:
      return PyFloat_FromDouble(Load<float>(slot));
    case TypeId::kFloat64:
      return PyFloat_FromDouble(Load<double>(slot));
    case TypeId::kDecimal128:
    case TypeId::kDecimal256:
      return DecimalFromSlot(type_, slot);
    case TypeId::kFixedBinary:
      return PyBytes_FromStringAndSize(slot, type_.size);
    default:
      return TemporalFromSlot(type_, zone_, slot);
  }
}

}  // namespace flint
