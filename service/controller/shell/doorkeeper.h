// Doorkeeper: says who did not come in, and why, so that the operator of the controller learns of it, too.
//
// Each reason is said at once and then at growing intervals, with how often it was so.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/repeated.h"
#include "service/controller/shell/zmq/monitor.h"

namespace pace::controller {

class Doorkeeper {
  public:
    explicit Doorkeeper(bool has_keys) : has_keys_(has_keys) {}

    // The line to be logged, if there is one.
    struct Line {
        std::string from;  // an address; empty if it is not known
        std::string because;
        uint64_t times = 0;
    };
    std::optional<Line> on_event(const control_zmq::ConnectionEvent& event, base::TimePoint now);

  private:
    const char* words_for(control_zmq::ConnectionEvent::Kind kind) const;

    bool has_keys_;
    // Of the last connection that came. ZeroMQ does not say whose handshake failed; it is nearly always this one's.
    std::string last_peer_;
    base::Repeated repeated_;
};

}  // namespace pace::controller
