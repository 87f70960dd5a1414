# Installs libpace and the headers into an empty folder. Builds and runs consumer.cpp from there,
# once with find_package alone and once with pkg-config alone.
#   cmake -DINSTALL_SCRIPTS=a.cmake|b.cmake -DPREFIX=... -DLIBDIR=... -DCXX=... -DPKG_CONFIG=... -DSOURCE=... -P check.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../../../../cmake/RunOrFail.cmake")
file(REMOVE_RECURSE "${PREFIX}")

string(REPLACE "|" ";" INSTALL_SCRIPTS "${INSTALL_SCRIPTS}")
foreach(script IN LISTS INSTALL_SCRIPTS)
  run_or_fail("${CMAKE_COMMAND}" "-DCMAKE_INSTALL_PREFIX=${PREFIX}" -P "${script}")
endforeach()

# The tree is moved to check that no file contains its path.
file(REMOVE_RECURSE "${PREFIX}-moved")
file(RENAME "${PREFIX}" "${PREFIX}-moved")
set(PREFIX "${PREFIX}-moved")

run_or_fail("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${PREFIX}/build" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${PREFIX}")
run_or_fail("${CMAKE_COMMAND}" --build "${PREFIX}/build")
run_or_fail("${PREFIX}/build/consumer")

if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
  run_or_fail("${PKG_CONFIG}" "--define-variable=prefix=${PREFIX}" --cflags --libs pace)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run_or_fail("${CXX}" -std=c++17 -Wall -Wextra -pedantic -Werror "${SOURCE}/consumer.cpp" -o "${PREFIX}/consumer" ${flags})
  set(ENV{LD_LIBRARY_PATH} "${PREFIX}/${LIBDIR}")
  run_or_fail("${PREFIX}/consumer")
endif()
