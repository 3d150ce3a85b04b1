#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/processor.h"
#include "bindings/bindings.h"
#include "store/compression.h"

namespace flint {
namespace {

void RequireProcessor() {
  const std::vector<std::string> available = AvailableProcessorFeatures();
  for (const std::string& feature : RequiredProcessorFeatures()) {
    if (std::find(available.begin(), available.end(), feature) != available.end()) continue;
    throw py::import_error("this processor has no " + feature +
                           ", which this build of flintstate needs: build it from source here");
  }
}

}  // namespace

void BindBuildInfo(py::module_& m) {
  RequireProcessor();
  m.def("compiler", [] { return std::string(FLINT_COMPILER); });
  m.def("library_versions",
        [] { return std::map<std::string, std::string>{FLINT_LIBRARY_VERSIONS}; });
  m.def("compressions", &SupportedCompressions);
  m.def("processor_required", &RequiredProcessorFeatures);
  m.def("processor_available", &AvailableProcessorFeatures);
}

}  // namespace flint
