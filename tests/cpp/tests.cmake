# One executable for each directory under tests/cpp that has *_test.cc files: <part>_test. What they
# include takes longer to compile than what they say, so four files are compiled as one: their own
# names, too, differ within a directory.

find_package(GTest CONFIG REQUIRED)
include(GoogleTest)
file(GLOB test_directories CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_CURRENT_LIST_DIR}/*)
foreach(directory ${test_directories})
  file(GLOB sources CONFIGURE_DEPENDS ${directory}/*.cc)
  if(sources)
    get_filename_component(part ${directory} NAME)
    add_executable(${part}_test ${sources})
    set_target_properties(${part}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
    target_include_directories(${part}_test PRIVATE tests/cpp)
    target_link_libraries(${part}_test PRIVATE flint_core GTest::gmock GTest::gtest_main)
    add_test(NAME ${part} COMMAND ${part}_test)
  endif()
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/fuzz/libfuzzer.cmake)
