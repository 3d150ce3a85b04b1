#include "base/processor.h"

#if defined(__linux__) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace flint {

std::vector<std::string> RequiredProcessorFeatures() {
  return {
#ifdef __SSE4_2__
      "sse4.2",
#endif
#ifdef __POPCNT__
      "popcnt",
#endif
#ifdef __PCLMUL__
      "pclmul",
#endif
#ifdef __ARM_FEATURE_CRC32
      "crc32",
#endif
  };
}

std::vector<std::string> AvailableProcessorFeatures() {
  std::vector<std::string> features;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) features.emplace_back("sse4.2");
  if (__builtin_cpu_supports("popcnt")) features.emplace_back("popcnt");
  if (__builtin_cpu_supports("pclmul")) features.emplace_back("pclmul");
  if (__builtin_cpu_supports("avx2")) features.emplace_back("avx2");
  if (__builtin_cpu_supports("avx512f")) features.emplace_back("avx512f");
#elif defined(__linux__) && defined(__aarch64__)
  const unsigned long capabilities = getauxval(AT_HWCAP);
  if (capabilities & HWCAP_CRC32) features.emplace_back("crc32");
  if (capabilities & HWCAP_PMULL) features.emplace_back("pmull");
#elif defined(__APPLE__) && defined(__aarch64__)
  features = {"crc32", "pmull"};  // every such processor has them
#endif
  return features;
}

}  // namespace flint
