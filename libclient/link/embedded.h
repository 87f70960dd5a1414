// The daemon as a library. The functions here find libpaced, load it once and ask it for a
// connection.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::client {

// Returns a connected SOCK_SEQPACKET socket to the daemon that libpaced.so hosts in this process.
// Starts that daemon with the configuration file if the daemon does not run yet. An empty name
// means no configuration file.
//
// libpaced is $PACE_LIBPACED. Without that variable it is libpaced.so.1 or libpaced.so beside this
// library, or one that the loader finds. The library stays loaded: its threads outlive any session.
//
// Sets UCX_HANDLE_ERRORS=none and UCX_MEM_EVENTS=n in this process' environment where the variables
// are not set. Without them UCX would intercept the process' signals and memory calls.
base::Result<base::UniqueFd> connect_embedded(const std::string& config_file);

}  // namespace pace::client
