# Ensures the third-party libraries (build.py builds them once for each set of inputs) and gathers
# the ones that the core needs in `flint_third_party`. Sets FLINT_ARCH_FLAGS, the processors that we
# compile for: they are part of RocksDB's speed, whose checksum is slow without these instructions.

if(NOT Python_EXECUTABLE)
  foreach(venv $ENV{FLINT_VENV} ${CMAKE_CURRENT_SOURCE_DIR}/.venv)
    if(EXISTS ${venv}/bin/python AND NOT Python_EXECUTABLE)
      set(Python_EXECUTABLE ${venv}/bin/python)
    endif()
  endforeach()
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)

set(processor "${CMAKE_SYSTEM_PROCESSOR}")
if(CMAKE_OSX_ARCHITECTURES)
  set(processor "${CMAKE_OSX_ARCHITECTURES}")
endif()
if(processor MATCHES "^(x86_64|AMD64)$")
  set(FLINT_ARCH_FLAGS "-march=x86-64-v2 -mpclmul")
  set(portable "x86-64-v2")
elseif(processor MATCHES "^(arm64|aarch64)$")
  set(FLINT_ARCH_FLAGS "-march=armv8-a+crc")
  set(portable "1") # RocksDB's own CMake adds what it needs
else()
  message(FATAL_ERROR "flintstate is built for x86_64 and arm64, not for ${processor}")
endif()

set(build_arguments
  --cmake ${CMAKE_COMMAND} --generator ${CMAKE_GENERATOR} --make-program ${CMAKE_MAKE_PROGRAM}
  --cc ${CMAKE_C_COMPILER} --cxx ${CMAKE_CXX_COMPILER}
  --compiler ${CMAKE_CXX_COMPILER_ID} --version ${CMAKE_CXX_COMPILER_VERSION}
  "--flags=${FLINT_ARCH_FLAGS}" --rocksdb-portable ${portable})
if(CMAKE_OSX_ARCHITECTURES)
  list(APPEND build_arguments --osx-architectures ${CMAKE_OSX_ARCHITECTURES})
endif()
if(FLINT_SANITIZE STREQUAL "thread")
  list(APPEND build_arguments --sanitizer thread) # an uninstrumented RocksDB gives false races
endif()
if(FLINT_TESTS)
  list(APPEND build_arguments --also googletest)
endif()
if(FLINT_BENCHMARKS)
  list(APPEND build_arguments --also benchmark)
endif()

execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/build.py ${build_arguments}
  OUTPUT_VARIABLE FLINT_PREFIXES OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "The third-party libraries are missing: see the error above.")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_LIST_DIR}/build.py ${CMAKE_CURRENT_LIST_DIR}/sources.toml)

list(PREPEND CMAKE_PREFIX_PATH ${FLINT_PREFIXES})
find_package(Threads REQUIRED)

foreach(name lz4 zstd rocksdb)
  foreach(prefix ${FLINT_PREFIXES})
    if(EXISTS ${prefix}/lib/lib${name}.a)
      add_library(flint_${name} STATIC IMPORTED)
      set_target_properties(flint_${name} PROPERTIES
        IMPORTED_LOCATION ${prefix}/lib/lib${name}.a
        INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include)
    endif()
  endforeach()
endforeach()
add_library(flint_third_party INTERFACE)
target_link_libraries(flint_third_party
  INTERFACE flint_rocksdb flint_lz4 flint_zstd Threads::Threads ${CMAKE_DL_LIBS})
