// write_now: writes a line to a pipe, a terminal, a socket or a file. It never waits for the
// reader.
#pragma once

#include <string_view>

namespace pace::base {

// Returns true if the whole line was written. A line that is longer than a pipe takes at once may
// be written in part.
bool write_now(int fd, std::string_view line);

}  // namespace pace::base
