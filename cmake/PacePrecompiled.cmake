# Memory spent for a shorter build: the standard's headers are compiled once for all libraries, once for all programs
# and once for all tests, and GCC seldom collects garbage. Together they take a fifth of the compilers' time away.
# A source must still include what it uses: the dev and release builds have no such headers.
#
# The compiler cache needs CCACHE_SLOPPINESS=pch_defines,time_macros. GCC's precompiled headers serve every clone. Clang's
# name the clone that made them and are useless without it, so what clang compiles is in the cache for one clone only.

option(PACE_PRECOMPILED "Compile the standard's headers once, and let GCC have 1 GiB" OFF)

if(PACE_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -fpch-preprocess is for the compiler cache.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess> $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>)
  # Such headers are less a system's to GCC 12, and its false alarms inside std::string come through.
  target_compile_options(pace_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;${PACE_GCC12_FALSE_ALARMS}>")
elseif(PACE_PRECOMPILED)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# Not <filesystem>: it brings std::quoted, which a call of our quoted() with a string would find too.
set(PACE_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <coroutine> <cstring> <deque> <fstream>
  <functional> <map> <memory> <mutex> <optional> <random> <ranges> <set> <span> <sstream> <string> <string_view> <thread>
  <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

# pace_precompiled(TARGET KIND COMPUTES): the target's sources begin with the headers of its kind: library, program or
# test. If it computes, a sanitizer build optimizes it, and it has headers of its own.
# What is compiled with options of its own cannot have them (GCC fails inside): pace_own_options, pace_source_options.
function(pace_precompiled target kind computes)
  set(options "")
  set(donor pace_precompiled_${kind})
  if(computes AND PACE_SANITIZE)
    set(options -O1)
    string(APPEND donor _that_computes)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  get_target_property(sources ${target} SOURCES)
  if(NOT PACE_PRECOMPILED OR sources MATCHES "\\.c(;|$)")
    return()
  endif()
  if(NOT TARGET ${donor})
    pace_precompiled_donor(${donor} ${kind} "${options}")
  endif()
  target_precompile_headers(${target} REUSE_FROM ${donor})
endfunction()

# A program has code for a fixed place in it, a library has not; so each kind needs its own.
function(pace_precompiled_donor donor kind options)
  set(source "${CMAKE_BINARY_DIR}/${donor}.cpp")
  if(kind STREQUAL "library")
    file(GENERATE OUTPUT "${source}" CONTENT "")
    add_library(${donor} OBJECT "${source}")
  else()
    file(GENERATE OUTPUT "${source}" CONTENT "int main() {}\n")
    add_executable(${donor} "${source}")
  endif()
  set(headers ${PACE_PRECOMPILED_HEADERS})
  target_link_libraries(${donor} PRIVATE pace_flags)
  if(kind STREQUAL "test")
    list(APPEND headers <gtest/gtest.h>)
    target_link_libraries(${donor} PRIVATE pace_test_flags GTest::gtest)
  endif()
  target_compile_options(${donor} PRIVATE ${options})
  target_precompile_headers(${donor} PRIVATE ${headers})
  set_target_properties(${donor} PROPERTIES UNITY_BUILD OFF)
endfunction()

# pace_own_options(TARGET options...): what only this target is compiled with, without such headers.
function(pace_own_options target)
  target_compile_options(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()

# pace_source_options(OPTIONS sources...): the same for sources of a target.
function(pace_source_options options)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
