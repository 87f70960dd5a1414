// The source of a status document: a file, standard input, or pacectl, which asks the controller.
#pragma once

#include <string>

#include "base/result.h"

namespace pace::simulator {

// Reads at most kStatusBytesMax. "-" is standard input.
base::Result<std::string> read_status(const std::string& path);

// Returns what `pacectl status --json` prints. The messages of pacectl go to standard error. No
// shell is involved: the pacectl beside this program is run, otherwise the one in PATH. `endpoint`
// has pacectl's form. If it is empty, none is passed.
base::Result<std::string> ask_pacectl(const std::string& endpoint);

// Does the same with `program`. Its name has a '/', or it is searched for in PATH.
base::Result<std::string> ask_program(const std::string& program, const std::string& endpoint);

}  // namespace pace::simulator
