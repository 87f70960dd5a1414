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
};

// How long to try: `deadline` bounds every wait; a daemon that is not there at all, or goes away
// while it greets, is tried again until `absent_until`.
struct Patience {
    base::TimePoint deadline;
    base::TimePoint absent_until;
};

// Connects and greets. Fails with not_found, unavailable or denied and a sentence that says what to
// do, and with version naming both versions.
base::Result<Greeting> greet(const Endpoint& endpoint, const Patience& patience);

// Waits before the next try of something that offers nothing to wait on: a socket that nobody
// listens to yet. The pause doubles from 1 ms to 50 ms. False if `until` would pass meanwhile.
class Retry {
  public:
    explicit Retry(base::TimePoint until) : until_(until) {}
    bool pause();

  private:
    base::TimePoint until_;
    int pause_ms_ = 1;
};

}  // namespace pace::client
