# The Python extension flintstate._core: everything linked in, its init function alone exported.

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
  OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_package(pybind11 3 CONFIG)
if(NOT pybind11_FOUND)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no pybind11: `make build` installs what is needed "
    "into a virtual environment, or name one that has it in FLINT_VENV.")
endif()

file(GLOB binding_sources CONFIGURE_DEPENDS cpp/bindings/*.cc)
pybind11_add_module(_core MODULE NO_EXTRAS ${binding_sources})
target_link_libraries(_core PRIVATE flint_core)

set(versions "{\"pybind11\", \"${pybind11_VERSION}\"}")
foreach(name lz4 zstd rocksdb)
  string(REGEX MATCH "/${name}-([0-9.]+)-" found "${FLINT_PREFIXES}")
  string(APPEND versions ", {\"${name}\", \"${CMAKE_MATCH_1}\"}")
endforeach()
set_source_files_properties(cpp/bindings/build_info.cc PROPERTIES COMPILE_DEFINITIONS
  "FLINT_LIBRARY_VERSIONS=${versions};FLINT_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\"")

if(APPLE)
  target_link_options(_core PRIVATE
    -Wl,-exported_symbol,_PyInit__core -Wl,-dead_strip)
else()
  set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
  target_link_options(_core PRIVATE
    -Wl,--version-script=${exports} -Wl,--gc-sections -Wl,-z,relro,-z,now)
  set_target_properties(_core PROPERTIES LINK_DEPENDS ${exports})
endif()

if(FLINT_IN_PLACE)
  set_target_properties(_core PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/python/flintstate)
endif()
install(TARGETS _core LIBRARY DESTINATION flintstate)
if(SKBUILD)
  execute_process( # pybind11 is headers, so what they make is in the extension too
    COMMAND ${Python_EXECUTABLE} -c "from importlib.metadata import files
print(next(f.locate() for f in files('pybind11') if f.name == 'LICENSE'))"
    OUTPUT_VARIABLE pybind11_licence OUTPUT_STRIP_TRAILING_WHITESPACE)
  install(FILES ${pybind11_licence} DESTINATION ${SKBUILD_METADATA_DIR}/licenses/pybind11)
  foreach(prefix ${FLINT_PREFIXES})
    install(DIRECTORY ${prefix}/share/licences/ DESTINATION ${SKBUILD_METADATA_DIR}/licenses)
  endforeach()
endif()
