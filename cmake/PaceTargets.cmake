# pace_library, pace_program and pace_test: one line per target, the same rules for all.

include(GoogleTest)
find_package(GTest REQUIRED)

# The include root for every target: a mirror of the tree in which a folder appears only when the
# target that owns it is linked. `#include "base/result.h"` compiles only for those who link pace_base,
# so an include that the design does not allow does not compile.
set(PACE_INCLUDE_ROOT "${CMAKE_BINARY_DIR}/include-roots")

function(pace_export_folder target folder)
  set(root "${PACE_INCLUDE_ROOT}/${target}")
  get_filename_component(parent "${root}/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  if(NOT EXISTS "${root}/${folder}")
    file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${folder}" "${root}/${folder}" SYMBOLIC)
  endif()
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${root}>")
  else()
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${root}>")
  endif()
endfunction()

# pace_library(NAME FOLDER path/in/tree SOURCES a.cpp ... PUBLIC libs... PRIVATE libs...)
function(pace_library name)
  cmake_parse_arguments(ARG "" "FOLDER" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE pace_flags ${ARG_PRIVATE})
  pace_export_folder(${name} ${ARG_FOLDER})
endfunction()

# pace_program(NAME SOURCES a.cpp ... LIBS libs...)
function(pace_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE pace_flags ${ARG_LIBS})
endfunction()

# pace_test(NAME SOURCES a_test.cpp ... LIBS libs... [LABELS unit] [TIMEOUT seconds])
# Every TEST in the sources becomes one CTest test named NAME.Suite.Test.
function(pace_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE pace_flags ${ARG_LIBS} GTest::gtest_main GTest::gtest)
  gtest_discover_tests(${name} TEST_PREFIX "${name}."
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    DISCOVERY_TIMEOUT 60)
endfunction()
