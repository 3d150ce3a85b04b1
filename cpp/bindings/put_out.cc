#include "bindings/put_out.h"

#include <utility>

#include "bindings/arrow.h"
#include "bindings/bindings.h"

namespace flint {
namespace {

constexpr int64_t kRows = 1 << 16;
constexpr size_t kReprMax = 400;

bool IsText(PyObject* value) {
  return PyUnicode_Check(value) || PyBytes_Check(value) || PyByteArray_Check(value);
}

// What a call returned, to be gone through; of a string or a mapping that would be no rows.
py::object Iterate(PyObject* result, py::handle function) {
  bool iterable = !IsText(result) && !PyDict_Check(result);
  auto rows = py::reinterpret_steal<py::object>(iterable ? PyObject_GetIter(result) : nullptr);
  if (rows) return rows;
  if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_TypeError)) {
    throw py::error_already_set();
  }
  PyErr_Clear();
  std::string name = py::str(py::getattr(function, "__name__", py::str("the function")));
  Check(WrongValue("tuples that are yielded, or a list of them", result).WithContext(name));
  return rows;
}

}  // namespace

PutOut::PutOut(py::handle output) : gatherer_(ImportSchema(output, "output")) {
  output_ = Field{"", DataType(TypeId::kStruct), false};
  output_.type.children = gatherer_.schema().fields;
}

void PutOut::TakeAll(const py::object& result, py::handle function) {
  if (result.is_none()) return;
  py::object rows = Iterate(result.ptr(), function);
  iternextfunc next = Py_TYPE(rows.ptr())->tp_iternext;
  while (auto row = py::reinterpret_steal<py::object>(next(rows.ptr()))) Take(std::move(row));
  if (PyErr_Occurred() == nullptr) return;
  if (!PyErr_ExceptionMatches(PyExc_StopIteration)) throw py::error_already_set();
  PyErr_Clear();
}

void PutOut::Take(py::object row) {
  if (PyList_Check(row.ptr())) row = py::reinterpret_steal<py::object>(PyList_AsTuple(row.ptr()));
  if (!PyTuple_Check(row.ptr())) {
    std::string wanted = "a tuple of (" + gatherer_.schema().ToString() + ")";
    Check(WrongValue(wanted, row.ptr()).WithContext("output row"));
  }
  Status status = gatherer_.Add(row.ptr());
  if (status.ok()) return;
  Check(status.WithContext("output row " + ShortRepr(row.ptr(), kReprMax)));
}

bool PutOut::HasEnough() const { return gatherer_.size() >= kRows || gatherer_.full(); }

py::object PutOut::Finish() {
  if (gatherer_.size() == 0) return py::none();
  return py::cast(ExportedArray{output_, gatherer_.Finish()});
}

void BindPutOut(py::module_& m) {
  py::class_<PutOut>(m, "PutOut")
      .def(py::init<py::handle>(), py::arg("output"))
      .def("take_all", &PutOut::TakeAll, py::arg("result"), py::arg("function"))
      .def("finish", &PutOut::Finish);
}

}  // namespace flint
