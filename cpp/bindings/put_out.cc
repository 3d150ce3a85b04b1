#include "bindings/put_out.h"

#include <utility>

#include "bindings/arrow.h"

namespace flint {
namespace {

constexpr int64_t kRows = 1 << 16;

}  // namespace

PutOut::PutOut(py::handle output) {
  Schema schema = ImportSchema(output, "output");
  output_ = Field{"", DataType(TypeId::kStruct), false};
  output_.type.children = schema.fields;
  if (RowGatherer::Takes(schema)) gatherer_.emplace(schema);
}

void PutOut::TakeAll(const py::object& result) {
  if (result.is_none()) return;
  auto rows = py::reinterpret_steal<py::object>(PyObject_GetIter(result.ptr()));
  if (!rows) throw py::error_already_set();
  iternextfunc next = Py_TYPE(rows.ptr())->tp_iternext;
  while (auto row = py::reinterpret_steal<py::object>(next(rows.ptr()))) Take(std::move(row));
  if (PyErr_Occurred() == nullptr) return;
  if (!PyErr_ExceptionMatches(PyExc_StopIteration)) throw py::error_already_set();
  PyErr_Clear();
}

// Once a row did not fit as it is, the rows behind it are not gathered either: their order stays.
void PutOut::Take(py::object row) {
  if (gatherer_ && misfits_.empty() && gatherer_->Add(row.ptr())) return;
  misfits_.append(std::move(row));
}

bool PutOut::HasEnough() const {
  return Gathered() + static_cast<int64_t>(misfits_.size()) >= kRows ||
         (gatherer_ && gatherer_->full());
}

py::object PutOut::Finish() {
  if (Gathered() == 0 && misfits_.empty()) return py::none();
  py::object batch = py::none();
  if (Gathered() > 0) batch = py::cast(ExportedArray{output_, gatherer_->Finish()});
  return py::make_tuple(std::move(batch), std::exchange(misfits_, py::list()));
}

}  // namespace flint
