# The fuzz target under libFuzzer, for a minute, where a clang that has it is there and no sanitizer
# is asked for anyway. Elsewhere segment_fuzz_test.cc drives the same target, for that minute.

find_program(FLINT_CLANGXX clang++)
if(FLINT_CLANGXX AND NOT DEFINED FLINT_HAS_LIBFUZZER)
  set(probe ${CMAKE_BINARY_DIR}/libfuzzer_probe)
  file(WRITE ${probe}.cc
    "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n")
  execute_process(
    COMMAND ${FLINT_CLANGXX} -std=c++20 -fsanitize=fuzzer,address ${probe}.cc -o ${probe}
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(FLINT_HAS_LIBFUZZER ON CACHE INTERNAL "")
  else()
    set(FLINT_HAS_LIBFUZZER OFF CACHE INTERNAL "")
  endif()
endif()

if(FLINT_HAS_LIBFUZZER AND NOT FLINT_SANITIZE)
  file(GLOB fuzzed_sources CONFIGURE_DEPENDS cpp/base/*.cc cpp/changelog/*.cc)
  list(APPEND fuzzed_sources ${CMAKE_CURRENT_LIST_DIR}/segment_fuzz.cc)
  list(TRANSFORM FLINT_PREFIXES APPEND /include OUTPUT_VARIABLE include_directories)
  list(TRANSFORM include_directories PREPEND -isystem)
  add_custom_command(
    OUTPUT segment_fuzzer
    COMMAND ${FLINT_CLANGXX} -std=c++20 -g1 -O1 ${arch_flags} -fsanitize=fuzzer,address
      -Icpp -Itests/cpp ${include_directories} ${fuzzed_sources} $<TARGET_FILE:flint_zstd>
      -o ${CMAKE_BINARY_DIR}/segment_fuzzer
    DEPENDS ${fuzzed_sources}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    VERBATIM)
  add_custom_target(libfuzzer ALL DEPENDS segment_fuzzer)
  add_test(NAME segment_fuzzer
    COMMAND segment_fuzzer -max_total_time=60 -max_len=20000 ${CMAKE_BINARY_DIR}/fuzz_corpus
      ${CMAKE_SOURCE_DIR}/tests/fixtures/changelog)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz_corpus)
else()
  set_tests_properties(fuzz PROPERTIES ENVIRONMENT FLINT_FUZZ_SECONDS=60)
endif()
