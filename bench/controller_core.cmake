# The controller's decision rate; needs no peer, so that it is always built. Include from bench/CMakeLists.txt.
pace_program(controller_core_bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/controller_core_bench.cpp
  LIBS pace_controller_core)
