# Installs libpace into an empty folder, and builds and runs the frozen client from there with pkg-config alone.
#   cmake -DINSTALL_SCRIPT=... -DPREFIX=... -DLIBDIR=... -DCC=... -DPKG_CONFIG=... -DCLIENT=... -P installed.cmake
file(REMOVE_RECURSE "${PREFIX}")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV} failed: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" "-DCMAKE_INSTALL_PREFIX=${PREFIX}" -P "${INSTALL_SCRIPT}")
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
run("${PKG_CONFIG}" "--define-variable=prefix=${PREFIX}" --cflags --libs pace)
separate_arguments(flags UNIX_COMMAND "${output}")
run("${CC}" -std=c99 -Wall -Wextra -pedantic -Werror "${CLIENT}" -o "${PREFIX}/client" ${flags})
set(ENV{LD_LIBRARY_PATH} "${PREFIX}/${LIBDIR}")
run("${PREFIX}/client")
