// Local peer: which user of this machine is at the other end of a TCP connection over loopback. The
// kernel knows (sock_diag(7)); nothing that the peer says counts.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace pace::base {

// `socket` is this side's descriptor of a TCP connection whose ends are both on this machine. Does
// not block. Errors: not_found if there is no such connection any more; otherwise the kernel does
// not tell.
Result<uid_t> user_of_peer(int socket);

// Whether the descriptor is of a TCP connection, and its peer's address is loopback.
bool is_from_loopback(int socket);

}  // namespace pace::base
