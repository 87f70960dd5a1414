// Greeting: a connection on which Hello and Welcome have been exchanged.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "libclient/link/endpoint.h"
#include "libclient/link/link.h"

namespace pace::client {

struct Greeting {
    Link link;
    std::string node;            // the daemon's name
    std::string daemon_version;  // the version of the program, for people
    uint64_t generation = 0;     // a random number of the daemon's process
    uint32_t version = 0;        // the version of the protocol that both speak
    bool stream_words = false;   // the daemon takes words for the order of streams
    bool blocks = false;         // the daemon takes over buffers in blocks on a GPU
};

// How long to try. `deadline` bounds every wait. A daemon that is not there at all, or that goes
// away while it greets, is tried again until `absent_until`.
struct Patience {
    base::TimePoint deadline;
    base::TimePoint absent_until;
    // A signal to the waiting thread ends the wait with ErrorKind::interrupted.
    bool interruptible = false;
};

// Connects and greets. Fails with `not_found`, `unavailable` or `denied` and a sentence that says
// what to do. Fails with `version` and a message that names both versions.
base::Result<Greeting> greet(const Endpoint& endpoint, const Patience& patience);

// Waits before the next try of an action that offers nothing to wait on, for example a socket to
// which nobody listens yet. The pause doubles from 1 ms to 50 ms. pause() returns false if `until`
// has passed.
class Retry {
  public:
    explicit Retry(base::TimePoint until, bool interruptible = false)
        : until_(until), interruptible_(interruptible) {}
    bool pause();
    // Whether a signal has ended the last pause. That pause has returned false.
    bool interrupted() const { return interrupted_; }

  private:
    base::TimePoint until_;
    bool interruptible_;
    bool interrupted_ = false;
    int pause_ms_ = 1;
};

}  // namespace pace::client
