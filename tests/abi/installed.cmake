# Installs libpace into an empty folder, and builds and runs the frozen client from there with pkg-config alone.
#   cmake -DINSTALL_SCRIPT=... -DPREFIX=... -DLIBDIR=... -DCC=... -DPKG_CONFIG=... -DCLIENT=... -P installed.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/RunOrFail.cmake")
file(REMOVE_RECURSE "${PREFIX}")

run_or_fail("${CMAKE_COMMAND}" "-DCMAKE_INSTALL_PREFIX=${PREFIX}" -P "${INSTALL_SCRIPT}")
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
run_or_fail("${PKG_CONFIG}" "--define-variable=prefix=${PREFIX}" --cflags --libs pace)
separate_arguments(flags UNIX_COMMAND "${output}")
run_or_fail("${CC}" -std=c99 -Wall -Wextra -pedantic -Werror "${CLIENT}" -o "${PREFIX}/client" ${flags})
set(ENV{LD_LIBRARY_PATH} "${PREFIX}/${LIBDIR}")
run_or_fail("${PREFIX}/client")
