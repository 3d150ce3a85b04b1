#pragma once

#include <string>
#include <type_traits>

#include "bindings/pybind.h"

namespace flint {

// Methods that are called once or more for each row. pybind11's way from a call to the function
// costs more than what such a method does; these are CPython's own method descriptors instead.

// The object behind `self`, which is an instance of its bound class; throws where it has none.
template <class Bound>
Bound& BoundOf(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  auto* bound = static_cast<Bound*>(instance->get_value_and_holder().value_ptr());
  if (bound == nullptr) throw py::type_error("it was never initialized");
  return *bound;
}

// Runs `call`, which gives a new reference, and turns what it throws into a Python error.
template <class Call>
PyObject* Guarded(Call call) {
  try {
    return call();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const StatusError& error) {
    SetPythonError(error.status());
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <class Bound, py::object (Bound::*kMethod)()>
PyObject* CallPlain(PyObject* self, PyObject* /*nothing*/) {
  return Guarded([&] { return (BoundOf<Bound>(self).*kMethod)().release().ptr(); });
}

// The one argument of a call, given by its place or by its name.
inline py::handle OnlyArgument(PyObject* const* arguments, Py_ssize_t count, PyObject* names,
                               const char* name) {
  if (count == 1 && names == nullptr) return arguments[0];
  if (count == 0 && names != nullptr && PyTuple_GET_SIZE(names) == 1 &&
      PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), name) == 0) {
    return arguments[0];
  }
  throw py::type_error(std::string("one argument is expected, ") + name);
}

// The name of a method's argument.
template <auto kMethod>
inline const char* argument_name = nullptr;

template <class Bound, auto kMethod>
PyObject* CallWithOne(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                      PyObject* names) {
  return Guarded([&] {
    py::handle argument = OnlyArgument(arguments, count, names, argument_name<kMethod>);
    Bound& bound = BoundOf<Bound>(self);
    if constexpr (std::is_void_v<decltype((bound.*kMethod)(argument))>) {
      (bound.*kMethod)(argument);
      return Py_NewRef(Py_None);
    } else {
      return (bound.*kMethod)(argument).release().ptr();
    }
  });
}

// `method` has to live as long as the class does.
inline void AddMethod(py::handle type, PyMethodDef* method) {
  auto made = py::reinterpret_steal<py::object>(
      PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), method));
  if (!made) throw py::error_already_set();
  py::setattr(type, method->ml_name, made);
}

// A method without arguments that returns an object, and one that takes an object.
template <class Bound, py::object (Bound::*kMethod)()>
void DefineFast(py::handle type, const char* name) {
  static PyMethodDef method = {name, &CallPlain<Bound, kMethod>, METH_NOARGS, nullptr};
  AddMethod(type, &method);
}
template <class Bound, auto kMethod>
void DefineFast(py::handle type, const char* name, const char* argument) {
  argument_name<kMethod> = argument;
  static PyMethodDef method = {
      name,
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&CallWithOne<Bound, kMethod>)),
      METH_FASTCALL | METH_KEYWORDS, nullptr};
  AddMethod(type, &method);
}

}  // namespace flint
