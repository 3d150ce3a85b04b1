#include "bindings/bindings.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled core of flintstate. Use the package `flintstate`, not this.";
  flint::BindErrors(m);
  flint::BindBuildInfo(m);
  flint::BindArrow(m);
  flint::BindChangelog(m);
  flint::BindRows(m);
  flint::BindKey(m);
  flint::BindKeyCodec(m);
  flint::BindStore(m);
  flint::BindTable(m);
  flint::BindStateBackend(m);
  flint::BindStateValue(m);
  flint::BindStateList(m);
  flint::BindStateMap(m);
  flint::BindStateGathering(m);
  flint::BindStateSorted(m);
  flint::BindOperators(m);
  flint::BindPutOut(m);
  flint::BindRowLoop(m);
  flint::BindTimerLoop(m);
}
