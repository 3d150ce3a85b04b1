#pragma once

#include <string>
#include <vector>

namespace flint {

// What this build requires of the processor, by the names that compilers use ("sse4.2"). Code that
// was compiled for an instruction dies without a word where it is missing, so it is asked first.
std::vector<std::string> RequiredProcessorFeatures();

// What the processor has, among the features that matter here.
std::vector<std::string> AvailableProcessorFeatures();

}  // namespace flint
