// Greeting: a connection on which Hello and Welcome have been exchanged.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "libclient/endpoint.h"
#include "libclient/link.h"

namespace pace::client {

struct Greeting {
    Link link;
    std::string node;            // the daemon's name
    std::string daemon_version;  // of the program, for people
    uint64_t generation = 0;     // random number of the daemon's process
    uint32_t version = 0;        // of the protocol, which both speak
};

// How long to try: `deadline` bounds every wait; a daemon that is not there at all, or goes away
// while it greets, is tried again until `absent_until`.
struct Patience {
    base::TimePoint deadline;
    base::TimePoint absent_until;
    // A signal that comes to the waiting thread ends the wait: ErrorKind::interrupted.
    bool interruptible = false;
};

// Connects and greets. Fails with not_found, unavailable or denied and a sentence that says what to
// do, and with version naming both versions.
base::Result<Greeting> greet(const Endpoint& endpoint, const Patience& patience);

// Waits before the next try of something that offers nothing to wait on: a socket that nobody
// listens to yet. The pause doubles from 1 ms to 50 ms. False if `until` would pass meanwhile.
class Retry {
  public:
    explicit Retry(base::TimePoint until, bool interruptible = false)
        : until_(until), interruptible_(interruptible) {}
    bool pause();
    // A signal has ended the last pause, which has returned false.
    bool interrupted() const { return interrupted_; }

  private:
    base::TimePoint until_;
    bool interruptible_;
    bool interrupted_ = false;
    int pause_ms_ = 1;
};

}  // namespace pace::client
