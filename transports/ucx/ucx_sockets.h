// UcxSockets: bounds how long the TCP connections of a UCX worker may hold bytes that nobody
// acknowledges.
//
// Without a bound, TCP repeats unacknowledged bytes for a quarter of an hour, at intervals that
// double. A connection that was cut for 30 s moves again after up to 30 s more. With a bound, the
// kernel ends the connection at both ends, the peer is lost, and the next connection is a new one.
//
// UCX 1.13 has no setting for the bound and shows none of its sockets. The kernel tells which
// descriptors the worker's epoll descriptor watches (fdinfo, proc(5)). Each connection is in the
// epoll set of its interface.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace pace::transports {

class UcxSockets {
  public:
    UcxSockets(int worker_fd, base::Duration unmoved_max)
        : worker_fd_(worker_fd), unmoved_max_(unmoved_max) {}

    // Bounds every connection that the worker has now. The call is cheap if all connections are
    // bounded already: one read per interface and one question per connection. Fails if /proc
    // cannot be read.
    base::Result<> bound();

  private:
    static base::Result<std::vector<int>> watched_by(int epoll_fd);

    int worker_fd_;
    base::Duration unmoved_max_;
};

}  // namespace pace::transports
