#include "bindings/python_time.h"

#include <datetime.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <string>

#include "bindings/python_scalar.h"

namespace flint {
namespace {

__extension__ using Wide = __int128;  // microseconds of any timedelta, nanoseconds of any datetime

constexpr int64_t kPerSecond[] = {1, 1'000, 1'000'000, 1'000'000'000};
constexpr const char* kUnitNames[] = {"s", "ms", "us", "ns"};
constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kNanosPerMicro = 1'000;
constexpr int64_t kSecondsPerDay = 86'400;
constexpr int64_t kDayMin = -719'162;   // 0001-01-01
constexpr int64_t kDayMax = 2'932'896;  // 9999-12-31
constexpr int64_t kDeltaDaysMax = 999'999'999;

// Python's datetime module, imported into this file's PyDateTimeAPI by whoever comes first.
void ImportDatetime() {
  if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
  if (PyDateTimeAPI == nullptr) throw py::error_already_set();
}

py::object Numpy(const char* name) { return py::module_::import("numpy").attr(name); }

bool IsNamed(PyObject* value, const char* type) {
  return std::strcmp(Py_TYPE(value)->tp_name, type) == 0;
}

// A count of the type's own units, into the slot. False where the slot can't hold it.
bool StoreCount(const DataType& type, Wide count, char* slot) {
  bool narrow = type.FixedWidth() == 4;
  Wide most = narrow ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  if (count > most || count < -most - 1) return false;
  auto wide = static_cast<int64_t>(count);
  std::memcpy(slot, &wide, narrow ? 4 : 8);
  return true;
}

int64_t LoadCount(const DataType& type, const char* slot) {
  int32_t narrow;
  int64_t wide;
  if (type.FixedWidth() == 4) {
    std::memcpy(&narrow, slot, sizeof narrow);
    return narrow;
  }
  std::memcpy(&wide, slot, sizeof wide);
  return wide;
}

// The type's units, as nanoseconds of each: days, too, fit.
Wide UnitNanos(const DataType& type) {
  constexpr int64_t kNanosPerSecond = kPerSecond[3];
  if (type.id == TypeId::kDate32) return Wide{kSecondsPerDay} * kNanosPerSecond;
  if (type.id == TypeId::kDate64) return kNanosPerSecond / kPerSecond[1];
  return kNanosPerSecond / kPerSecond[static_cast<size_t>(type.unit)];
}

const char* UnitName(const DataType& type) {
  if (type.id == TypeId::kDate32) return "D";
  if (type.id == TypeId::kDate64) return "ms";
  return kUnitNames[static_cast<size_t>(type.unit)];
}

Status StoreNanos(const DataType& type, Wide nanos, PyObject* value, char* slot) {
  Wide unit = UnitNanos(type);
  if (nanos % unit != 0) {
    return WrongValue(type.ToString() + ", whole in its unit", value);
  }
  if (StoreCount(type, nanos / unit, slot)) return Status();
  return WrongValue(type.ToString() + ", within its range", value);
}

// What pandas' subclasses of datetime and timedelta hold beyond microseconds.
int64_t ExtraNanos(PyObject* value, const char* attribute) {
  PyObject* extra = PyObject_GetAttrString(value, attribute);
  if (extra == nullptr) {
    PyErr_Clear();
    return 0;
  }
  return py::reinterpret_steal<py::object>(extra).cast<int64_t>();
}

Wide MicrosOfDelta(PyObject* delta) {
  Wide seconds =
      Wide{PyDateTime_DELTA_GET_DAYS(delta)} * kSecondsPerDay + PyDateTime_DELTA_GET_SECONDS(delta);
  return seconds * kMicros + PyDateTime_DELTA_GET_MICROSECONDS(delta);
}

int64_t DaysOf(PyObject* date) {
  using namespace std::chrono;
  sys_days days = year(PyDateTime_GET_YEAR(date)) / month(PyDateTime_GET_MONTH(date)) /
                  day(PyDateTime_GET_DAY(date));
  return days.time_since_epoch().count();
}

Status DatetimeToSlot(const DataType& type, PyObject* value, char* slot) {
  bool zoned = PyDateTime_DATE_GET_TZINFO(value) != Py_None;
  if (zoned == type.timezone.empty()) {
    return WrongValue(type.ToString() + (zoned ? ", without a zone" : ", with a zone"), value);
  }
  int64_t seconds = PyDateTime_DATE_GET_HOUR(value) * 3600 +
                    PyDateTime_DATE_GET_MINUTE(value) * 60 + PyDateTime_DATE_GET_SECOND(value);
  Wide micros = (Wide{DaysOf(value)} * kSecondsPerDay + seconds) * kMicros +
                PyDateTime_DATE_GET_MICROSECOND(value);
  if (zoned) {
    py::object offset = py::handle(value).attr("utcoffset")();
    if (!PyDelta_Check(offset.ptr())) return WrongValue(type.ToString() + ", with a zone", value);
    micros -= MicrosOfDelta(offset.ptr());
  }
  int64_t extra = PyDateTime_CheckExact(value) ? 0 : ExtraNanos(value, "nanosecond");
  return StoreNanos(type, micros * kNanosPerMicro + extra, value, slot);
}

Status TimeToSlot(const DataType& type, PyObject* value, char* slot) {
  if (PyDateTime_TIME_GET_TZINFO(value) != Py_None) {
    return WrongValue(type.ToString() + ", without a zone", value);
  }
  int64_t seconds = PyDateTime_TIME_GET_HOUR(value) * 3600 +
                    PyDateTime_TIME_GET_MINUTE(value) * 60 + PyDateTime_TIME_GET_SECOND(value);
  Wide micros = Wide{seconds} * kMicros + PyDateTime_TIME_GET_MICROSECOND(value);
  return StoreNanos(type, micros * kNanosPerMicro, value, slot);
}

Status NumpyToSlot(const DataType& type, PyObject* value, char* slot) {
  py::handle number(value);
  py::tuple unit = Numpy("datetime_data")(number.attr("dtype"));
  auto name = unit[0].cast<std::string>();
  Wide nanos = unit[1].cast<int64_t>();
  size_t k = 0;
  while (k < 4 && name != kUnitNames[k]) ++k;
  if (k == 4 && name != "D") return WrongValue(type.ToString(), value);
  nanos *= k == 4 ? Wide{kSecondsPerDay} * kPerSecond[3] : Wide{kPerSecond[3] / kPerSecond[k]};
  auto count = number.attr("astype")("int64").cast<int64_t>();
  if (count == std::numeric_limits<int64_t>::min()) return WrongValue(type.ToString(), value);
  return StoreNanos(type, nanos * count, value, slot);
}

bool TakesNumpy(const DataType& type, PyObject* value) {
  bool is_delta =
      type.id == TypeId::kDuration || type.id == TypeId::kTime32 || type.id == TypeId::kTime64;
  return IsNamed(value, is_delta ? "numpy.timedelta64" : "numpy.datetime64");
}

Status ToSlot(const DataType& type, PyObject* value, char* slot) {
  if (TakesNumpy(type, value)) return NumpyToSlot(type, value, slot);
  if (PyLong_CheckExact(value)) {
    if (StoreCount(type, PyLong_AsLongLong(value), slot) && PyErr_Occurred() == nullptr)
      return Status();
    return WrongValue(type.ToString() + ", within its range", value);
  }
  bool is_datetime = PyDateTime_Check(value) && !IsNamed(value, "NaTType");
  switch (type.id) {
    case TypeId::kTimestamp:
      if (is_datetime) return DatetimeToSlot(type, value, slot);
      break;
    case TypeId::kDate32:
    case TypeId::kDate64: {
      if (!PyDate_Check(value) || PyDateTime_Check(value)) break;
      Wide seconds = Wide{DaysOf(value)} * kSecondsPerDay;
      return StoreNanos(type, seconds * kPerSecond[3], value, slot);
    }
    case TypeId::kDuration: {
      if (!PyDelta_Check(value)) break;
      int64_t extra = PyDelta_CheckExact(value) ? 0 : ExtraNanos(value, "nanoseconds");
      return StoreNanos(type, MicrosOfDelta(value) * kNanosPerMicro + extra, value, slot);
    }
    default:
      if (PyTime_Check(value)) return TimeToSlot(type, value, slot);
  }
  return WrongValue(type.ToString(), value);
}

struct DayAndMicros {
  int64_t day;
  int64_t micros;
};

// False where a datetime can't hold it.
bool Split(const DataType& type, int64_t count, DayAndMicros* out) {
  Wide nanos = count * UnitNanos(type);
  if (nanos % kNanosPerMicro != 0) return false;
  constexpr Wide kPerDay = Wide{kSecondsPerDay} * kMicros;
  Wide micros = nanos / kNanosPerMicro;
  Wide day = micros / kPerDay - (micros % kPerDay < 0 ? 1 : 0);
  if (day < -kDeltaDaysMax || day > kDeltaDaysMax) return false;
  *out = {static_cast<int64_t>(day), static_cast<int64_t>(micros - day * kPerDay)};
  return true;
}

bool IsDate(int64_t day) { return day >= kDayMin && day <= kDayMax; }

std::chrono::year_month_day DateOf(int64_t day) {
  return std::chrono::sys_days(std::chrono::days(day));
}

PyObject* MakeDate(int64_t day) {
  auto date = DateOf(day);
  return PyDate_FromDate(int{date.year()}, static_cast<int>(unsigned{date.month()}),
                         static_cast<int>(unsigned{date.day()}));
}

PyObject* MakeDatetime(const DayAndMicros& at, PyObject* zone) {
  auto date = DateOf(at.day);
  auto seconds = static_cast<int>(at.micros / kMicros);
  return PyDateTimeAPI->DateTime_FromDateAndTime(
      int{date.year()}, static_cast<int>(unsigned{date.month()}),
      static_cast<int>(unsigned{date.day()}), seconds / 3600, seconds / 60 % 60, seconds % 60,
      static_cast<int>(at.micros % kMicros), zone, PyDateTimeAPI->DateTimeType);
}

// In UTC, then in the zone; null without an error where that leaves datetime's range.
PyObject* MakeZoned(const DayAndMicros& at, const py::object& zone) {
  PyObject* utc = MakeDatetime(at, PyDateTime_TimeZone_UTC);
  if (utc == nullptr || zone.ptr() == PyDateTime_TimeZone_UTC) return utc;
  PyObject* local = PyObject_CallMethod(utc, "astimezone", "O", zone.ptr());
  Py_DECREF(utc);
  if (local == nullptr && PyErr_ExceptionMatches(PyExc_OverflowError)) PyErr_Clear();
  return local;
}

// Null, without a Python error, where Python's datetime can't hold the value.
PyObject* FromSlot(const DataType& type, const py::object& zone, int64_t count) {
  DayAndMicros at;
  if (!Split(type, count, &at)) return nullptr;
  auto seconds = static_cast<int>(at.micros / kMicros);
  auto micros = static_cast<int>(at.micros % kMicros);
  switch (type.id) {
    case TypeId::kTimestamp:
      if (!IsDate(at.day)) return nullptr;
      return zone ? MakeZoned(at, zone) : MakeDatetime(at, Py_None);
    case TypeId::kDate32:
    case TypeId::kDate64:
      return at.micros == 0 && IsDate(at.day) ? MakeDate(at.day) : nullptr;
    case TypeId::kDuration:
      return PyDelta_FromDSU(static_cast<int>(at.day), seconds, micros);
    default:
      if (at.day != 0) return nullptr;
      return PyTime_FromTime(seconds / 3600, seconds / 60 % 60, seconds % 60, micros);
  }
}

PyObject* AsNumpy(const DataType& type, int64_t count) {
  bool is_date =
      type.id == TypeId::kTimestamp || type.id == TypeId::kDate32 || type.id == TypeId::kDate64;
  return Numpy(is_date ? "datetime64" : "timedelta64")(count, UnitName(type)).release().ptr();
}

// "+05:30"
bool ParseOffset(const std::string& zone, int* minutes) {
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return false;
  *minutes = std::stoi(zone.substr(1, 2)) * 60 + std::stoi(zone.substr(4, 2));
  if (zone[0] == '-') *minutes = -*minutes;
  return true;
}

}  // namespace

bool IsTemporal(TypeId id) { return id >= TypeId::kDate32 && id <= TypeId::kDuration; }

Result<py::object> ZoneOf(const DataType& type) {
  if (type.timezone.empty()) return py::object();
  try {
    ImportDatetime();
    int minutes = 0;
    if (type.timezone == "UTC") {
      return py::reinterpret_borrow<py::object>(PyDateTime_TimeZone_UTC);
    }
    if (ParseOffset(type.timezone, &minutes)) {
      auto offset = py::reinterpret_steal<py::object>(PyDelta_FromDSU(0, minutes * 60, 0));
      return py::reinterpret_steal<py::object>(PyTimeZone_FromOffset(offset.ptr()));
    }
    return py::module_::import("zoneinfo").attr("ZoneInfo")(type.timezone);
  } catch (const std::exception&) {
    return Status::Invalid("type " + type.ToString() + ": its time zone is unknown here");
  }
}

Status TemporalToSlot(const DataType& type, PyObject* value, char* slot) {
  try {
    ImportDatetime();
    return ToSlot(type, value, slot);
  } catch (const std::exception&) {
    return WrongValue(type.ToString(), value);
  }
}

Result<PyObject*> TemporalFromSlot(const DataType& type, const py::object& zone, const char* slot) {
  try {
    ImportDatetime();
    int64_t count = LoadCount(type, slot);
    PyObject* made = FromSlot(type, zone, count);
    if (made != nullptr) return made;
    if (PyErr_Occurred() != nullptr) return TakePythonError("reading a " + type.ToString());
    return AsNumpy(type, count);
  } catch (const std::exception& error) {
    return Status::Invalid("reading a " + type.ToString() + ": " + error.what());
  }
}

}  // namespace flint
