// ReadySignal: one descriptor that polls readable while ended requests wait to be collected, or
// when the daemon is gone.
//
// The descriptor is an epoll set. It therefore stays the same when the session reconnects. The set
// watches the bell of the completion ring (ended requests still in the ring), the socket (the
// daemon's death), and an event of our own (requests that some thread has taken off the ring and
// whose owners have not collected them).
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::client {

class ReadySignal {
  public:
    static base::Result<std::unique_ptr<ReadySignal>> create();

    int fd() const { return epoll_.get(); }

    // Watches a connection's bell and socket. Detach before either is closed: the daemon holds the
    // bell too, so closing the bell here would not take it out of the set.
    base::Result<> attach(int bell, int socket);
    void detach(int bell, int socket);

    // Tells whether ended requests wait in the session's table.
    void set_ended(bool any);

  private:
    ReadySignal(base::UniqueFd epoll, base::UniqueFd ended)
        : epoll_(std::move(epoll)), ended_(std::move(ended)) {}

    base::UniqueFd epoll_;
    base::UniqueFd ended_;
    bool any_ended_ = false;
};

}  // namespace pace::client
