# cmake -D OUTPUT=assets.cpp -P embed.cmake -- FILE... Writes a source with the files' bytes, by name. The bytes are written as escapes, so
# that no file can end its literal.
set(rows "")
set(is_file FALSE)
foreach(i RANGE ${CMAKE_ARGC})
  set(argument "${CMAKE_ARGV${i}}")
  if(is_file AND NOT argument STREQUAL "")
    file(READ "${argument}" bytes HEX)
    file(SIZE "${argument}" size)
    get_filename_component(name "${argument}" NAME)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" escaped "${bytes}")
    string(APPEND rows "    {\"${name}\", {\"${escaped}\", ${size}}},\n")
  elseif(argument STREQUAL "--")
    set(is_file TRUE)
  endif()
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed.cmake.
#include \"service/page/assets.h\"

namespace pace::page {

namespace {

constexpr Asset kAssets[] = {
${rows}};

}  // namespace

std::span<const Asset> assets() {
    return kAssets;
}

}  // namespace pace::page
")
