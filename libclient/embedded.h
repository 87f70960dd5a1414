// The daemon as a library: finds libpaced, loads it once, and asks it for a connection.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::client {

// A connected SOCK_SEQPACKET socket to the daemon that libpaced.so hosts in this process, which it
// starts with the configuration file (empty: none) if it does not run yet.
//
// libpaced is $PACE_LIBPACED, or libpaced.so.1 or libpaced.so beside this library, or one that the
// loader finds. It stays loaded: its threads outlive any session. Sets UCX_HANDLE_ERRORS=none and
// UCX_MEM_EVENTS=n in this process' environment, where they are not set: UCX would otherwise put itself in
// the way of the process' signals and memory calls.
base::Result<base::UniqueFd> connect_embedded(const std::string& config_file);

}  // namespace pace::client
