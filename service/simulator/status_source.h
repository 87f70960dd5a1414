// Where a status document comes from: a file, standard input, or pacectl, which asks the controller.
#pragma once

#include <string>

#include "base/result.h"

namespace pace::simulator {

// At most kStatusBytesMax of it. "-" is standard input.
base::Result<std::string> read_status(const std::string& path);

// What `pacectl status --json` prints; its messages go to standard error. It is run without a shell: the one beside this program, else
// that in PATH. `endpoint` as pacectl takes it; empty: none is handed on.
base::Result<std::string> ask_pacectl(const std::string& endpoint);

// The same of this program, whose name has a '/' or is searched in PATH.
base::Result<std::string> ask_program(const std::string& program, const std::string& endpoint);

}  // namespace pace::simulator
