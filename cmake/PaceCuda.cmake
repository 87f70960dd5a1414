# Whether the device plug-in is built, and how CUDA is compiled. Sets PACE_CUDA_FOUND, and PACE_CUDA_MISSING to the reason
# where it is off; nothing else of Pace needs a compiler for CUDA.

set(PACE_CUDA AUTO CACHE STRING "Build the device plug-in: ON, OFF, or AUTO: where a compiler for CUDA is found")
set_property(CACHE PACE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PACE_CUDA_ARCHITECTURES "" CACHE STRING
  "GPU architectures in CMake's form, e.g. 80-real;90; empty: all that are in use in a Release build, else 90")

# Those of current GPUs, from Turing to Blackwell. The newest is also there as PTX, which later drivers compile for later
# GPUs, and the oldest, for GPUs between these that are not listed.
set(PACE_CUDA_ARCHITECTURES_KNOWN 75 80 86 89 90 100 120)

# nvcc is seldom in the PATH.
function(pace_find_nvcc)
  if(CMAKE_CUDA_COMPILER OR DEFINED ENV{CUDACXX})
    return()
  endif()
  find_program(PACE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(PACE_NVCC)
  if(PACE_NVCC)
    set(ENV{CUDACXX} "${PACE_NVCC}")
  endif()
endfunction()

# pace_cuda_architectures(OUT): PACE_CUDA_ARCHITECTURES or its default, less what this compiler does not know.
function(pace_cuda_architectures out)
  if(PACE_CUDA_ARCHITECTURES)
    set(${out} "${PACE_CUDA_ARCHITECTURES}" PARENT_SCOPE)
    return()
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    set(${out} 90 PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  set(architectures "")
  foreach(architecture IN LISTS PACE_CUDA_ARCHITECTURES_KNOWN)
    if(known MATCHES "compute_${architecture}[ \r\n]")
      list(APPEND architectures "${architecture}-real")
    endif()
  endforeach()
  list(POP_BACK architectures newest)
  string(REPLACE "-real" "" newest "${newest}")
  list(POP_FRONT architectures oldest)
  string(REPLACE "-real" "" oldest "${oldest}")
  set(${out} "${oldest};${architectures};${newest}" PARENT_SCOPE)
endfunction()

set(PACE_CUDA_FOUND OFF)
set(PACE_CUDA_MISSING "")
if(NOT PACE_CUDA)
  set(PACE_CUDA_MISSING "PACE_CUDA is ${PACE_CUDA}")
elseif(PACE_SANITIZE)
  set(PACE_CUDA_MISSING "not in a sanitizer build")
else()
  pace_find_nvcc()
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    pace_cuda_architectures(CMAKE_CUDA_ARCHITECTURES)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(PACE_CUDA_FOUND ON)
  else()
    set(PACE_CUDA_MISSING "no compiler for CUDA works here (nvcc; CUDACXX names one)")
  endif()
endif()

if(NOT PACE_CUDA_FOUND)
  if(PACE_CUDA STREQUAL "ON" AND NOT PACE_SANITIZE)
    message(FATAL_ERROR "PACE_CUDA is ON, but ${PACE_CUDA_MISSING}")
  endif()
  message(STATUS "The GPU plug-in is left out: ${PACE_CUDA_MISSING}")
  return()
endif()

# CMake 3.25 does not know that nvcc has C++20.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE}")
endif()

# "75 80 90": what the plug-in says it has machine code for.
list(FILTER CMAKE_CUDA_ARCHITECTURES EXCLUDE REGEX "^$")
set(PACE_CUDA_MACHINE_CODE "")
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  if(NOT architecture MATCHES "-virtual$")
    string(REGEX MATCH "^[0-9]+" architecture "${architecture}")
    string(APPEND PACE_CUDA_MACHINE_CODE " ${architecture}")
  endif()
endforeach()
string(STRIP "${PACE_CUDA_MACHINE_CODE}" PACE_CUDA_MACHINE_CODE)
# A driver runs what is built with its own major release of CUDA, or an older one. CUDA 12 has those of most machines.
string(REGEX MATCH "^[0-9]+" PACE_CUDA_MAJOR "${CMAKE_CUDA_COMPILER_VERSION}")
message(STATUS "The GPU plug-in is built with CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${PACE_CUDA_MACHINE_CODE}, and needs a "
  "driver of CUDA ${PACE_CUDA_MAJOR} or later")

# A product is rounded before it is added, on every device (daemon/kernels/reduce.h says why). -Wpedantic cannot be had: what
# nvcc hands to the host's compiler is not in the standard's words.
add_library(pace_cuda_flags INTERFACE)
target_compile_options(pace_cuda_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${PACE_WERROR}>>:-Werror=all-warnings>)
