# Language level, warnings and sanitizers for everything that is ours.

option(PACE_WERROR "Treat warnings in our code as errors" ON)
option(PACE_TESTS "Build the tests (needs GoogleTest)" ON)
option(PACE_REPETITIONS "Build also the tests that `tests/run` leaves out without --all" OFF)
option(PACE_FUZZ "Build the fuzzers with libFuzzer (needs clang)" OFF)
option(PACE_BENCH "Build the benchmarks that compare with peers (needs MPI and Gloo)" OFF)
set(PACE_SANITIZE "" CACHE STRING "Sanitizers for the whole build, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

# Log entries name the source file by its path in the tree, wherever the tree lies: an object from the compiler cache may be another
# clone's.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)

add_library(pace_flags INTERFACE)
target_compile_options(pace_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-qual -Wundef
  $<$<BOOL:${PACE_WERROR}>:-Werror>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
# At -O3 GCC 12 finds overlaps, overflows and values without a beginning in strings and variants where none are (GCC bugs 105329, 105651, 105562).
set(PACE_GCC12_FALSE_ALARMS -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow)
target_compile_options(pace_flags INTERFACE
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:${PACE_GCC12_FALSE_ALARMS}>")
target_compile_definitions(pace_flags INTERFACE _GNU_SOURCE PACE_VERSION="${PROJECT_VERSION}")

# What tests/run builds, and the release build, compile a folder's sources a dozen at a time, in a third of the time. The
# dev build and tools/check/alone_check.py compile each alone, so that a missing include is found there. A coroutine's
# frame may hold a local type of its "main" file, which GCC takes for a header's when several are compiled at once.
if(CMAKE_UNITY_BUILD)
  target_compile_options(pace_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()

if(PACE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(PACE_SANITIZE)
  add_compile_options(-fsanitize=${PACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PACE_SANITIZE})
endif()
# Each pointer's use is looked at for null, type and size otherwise: a quarter of the time to compile, and the address
# sanitizer stops at such uses too.
if(PACE_SANITIZE MATCHES "undefined")
  add_compile_options(-fno-sanitize=null,vptr,object-size)
endif()

# The optimization of sources with loops over whole vectors.
set(PACE_LOOPS -O3)
if(PACE_SANITIZE)
  set(PACE_LOOPS -O1)
endif()

# A sanitizer build does not look for undefined behaviour in the tests' own sources, nor does libFuzzer follow them.
add_library(pace_test_flags INTERFACE)
if(PACE_SANITIZE MATCHES "undefined")
  target_compile_options(pace_test_flags INTERFACE -fno-sanitize=undefined)
endif()
if(PACE_FUZZ)
  target_compile_options(pace_test_flags INTERFACE -fno-sanitize=fuzzer-no-link)
endif()

# GCC 12 warns of overlaps and overflows inside std::string and fmt that cannot happen (GCC bugs 105651, 105329):
# pace_gcc12_false_alarm(-Wno-restrict a.cpp …) in the folder of the file that meets one.
function(pace_gcc12_false_alarm option)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${option}")
  endif()
endfunction()

include(PacePrecompiled)
