// write_now: a line to a pipe, a terminal, a socket or a file, without ever waiting for who reads it.
#pragma once

#include <string_view>

namespace pace::base {

// True if all of it was taken. A line that is longer than a pipe takes at once may be taken in part.
bool write_now(int fd, std::string_view line);

}  // namespace pace::base
