# pace_library, pace_program and pace_test: one line per target, the same rules for all.

if(PACE_TESTS)
  include(GoogleTest)
  find_package(GTest REQUIRED)
endif()

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

# pace_library(NAME FOLDER path/in/tree SOURCES a.cpp ... PUBLIC libs... PRIVATE libs... [COMPUTES])
# COMPUTES: a sanitizer build optimizes it, since its tests compute for longer than that takes.
function(pace_library name)
  cmake_parse_arguments(ARG "COMPUTES" "FOLDER" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE pace_flags ${ARG_PRIVATE})
  pace_export_folder(${name} ${ARG_FOLDER})
  pace_precompiled(${name} library ${ARG_COMPUTES})
endfunction()

# pace_no_undefined(TARGET): the shared library must name all libraries that it needs. With a sanitizer, its runtime is
# in the program only.
function(pace_no_undefined target)
  if(NOT PACE_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()

# Programs of a sanitizer build know their sanitizer's options by themselves.
if(PACE_SANITIZE)
  add_library(pace_sanitizer_options OBJECT "${CMAKE_SOURCE_DIR}/cmake/sanitizer_options.c")
endif()

function(pace_sanitizer_options target)
  if(PACE_SANITIZE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:pace_sanitizer_options>)
  endif()
endfunction()

# pace_program(NAME SOURCES a.cpp ... LIBS libs...)
function(pace_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE pace_flags ${ARG_LIBS})
  pace_precompiled(${name} program FALSE)
  pace_sanitizer_options(${name})
  if(PACE_SANITIZE AND name MATCHES "_bench$")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endfunction()

# What a sanitizer build calls its tests, and how much more time it gives them.
if(PACE_SANITIZE MATCHES "thread")
  set(PACE_TEST_PREFIX "tsan.")
  set(PACE_TIMEOUT_FACTOR 6)
elseif(PACE_SANITIZE)
  set(PACE_TEST_PREFIX "asan.")
  set(PACE_TIMEOUT_FACTOR 3)
else()
  set(PACE_TEST_PREFIX "")
  set(PACE_TIMEOUT_FACTOR 1)
endif()

# The labels whose tests a sanitizer build repeats.
set(PACE_SANITIZED_LABELS unit cluster)

# pace_test(NAME SOURCES a_test.cpp ... LIBS libs... [LABELS unit] [TIMEOUT seconds] [SERIAL] [REPETITIONS filter]
#           [ONE_THREAD filter] [SAME_MEMORY filter] [APART] [COMPUTES])
# Every TEST in the sources becomes one CTest test named NAME.Suite.Test. A sanitizer build gives its tests the
# prefix and the label asan or tsan. There a program of unit tests is one test, because to start the program takes
# longer than most of its tests. APART: not this one, whose tests each need a process. SERIAL: no other test runs beside it, for what measures time.
# COMPUTES: as for pace_library.
# REPETITIONS: a GoogleTest filter of tests that a sanitizer build gives the label LABELS_repetition. They
# show the same code in another family once more, and `tests/run` leaves them out without --all.
# ONE_THREAD: the same for the thread sanitizer's build alone, of tests in which no thread meets another, or the same
# threads meet as in a shorter test. SAME_MEMORY: the same for the address sanitizer's build alone, of tests that use
# memory as others do which it runs: long freezes of the longest families. If one of them is every test, the program is only built there with PACE_REPETITIONS
# (`tests/run --all`).
# Nothing is built without PACE_TESTS.
function(pace_test name)
  cmake_parse_arguments(ARG "SERIAL;APART;COMPUTES" "TIMEOUT;REPETITIONS;ONE_THREAD;SAME_MEMORY" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT PACE_TESTS OR (PACE_SANITIZE AND NOT ARG_LABELS IN_LIST PACE_SANITIZED_LABELS))
    return()
  endif()
  if(PACE_SANITIZE STREQUAL "thread")
    list(APPEND ARG_REPETITIONS ${ARG_ONE_THREAD})
  else()
    list(APPEND ARG_REPETITIONS ${ARG_SAME_MEMORY})
  endif()
  if(PACE_SANITIZE AND "*" IN_LIST ARG_REPETITIONS AND NOT PACE_REPETITIONS)
    return()
  endif()
  list(JOIN ARG_REPETITIONS ":" ARG_REPETITIONS)
  math(EXPR timeout "${ARG_TIMEOUT} * ${PACE_TIMEOUT_FACTOR}")
  set(properties TIMEOUT ${timeout} FIXTURES_REQUIRED pace_run)
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE pace_flags pace_test_flags ${ARG_LIBS} GTest::gtest_main GTest::gtest)
  pace_precompiled(${name} test ${ARG_COMPUTES})
  pace_sanitizer_options(${name})
  set(filter "*")
  if(PACE_SANITIZE)
    string(REPLACE "." "" label "${PACE_TEST_PREFIX}")
    set_property(DIRECTORY PROPERTY LABELS ${label})
  endif()
  if(PACE_SANITIZE AND ARG_REPETITIONS)
    set(filter "-${ARG_REPETITIONS}")
  endif()
  if(PACE_SANITIZE AND ARG_LABELS STREQUAL "unit" AND NOT ARG_APART)
    pace_whole_test(${name} unit "${filter}")
    if(ARG_REPETITIONS)
      pace_whole_test(${name}.repetitions unit_repetition "${ARG_REPETITIONS}")
    endif()
    return()
  endif()
  if(PACE_SANITIZE AND ARG_REPETITIONS)
    gtest_discover_tests(${name} TEST_PREFIX "${PACE_TEST_PREFIX}${name}." TEST_LIST ${name}_REPETITIONS
      TEST_FILTER "${ARG_REPETITIONS}" PROPERTIES LABELS "${ARG_LABELS}_repetition" ${properties}
      DISCOVERY_TIMEOUT 120)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${PACE_TEST_PREFIX}${name}."
    TEST_FILTER "${filter}" PROPERTIES LABELS "${ARG_LABELS}" ${properties}
    DISCOVERY_TIMEOUT 120)
endfunction()

# All tests of a program that the filter names, in one process.
function(pace_whole_test test label filter)
  string(REGEX REPLACE "\\.repetitions$" "" program "${test}")
  add_test(NAME "${PACE_TEST_PREFIX}${test}" COMMAND ${program} --gtest_brief=1 "--gtest_filter=${filter}")
  set_tests_properties("${PACE_TEST_PREFIX}${test}" PROPERTIES LABELS ${label} TIMEOUT 1200 FIXTURES_REQUIRED pace_run)
endfunction()
