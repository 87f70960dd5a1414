// Doorkeeper: reports connections that failed, and why, so that the controller's operator learns of
// them too.
//
// Each reason is reported at once, and then at growing intervals with a count.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/repeated.h"
#include "service/controller/zmq/monitor.h"

namespace pace::controller {

class Doorkeeper {
  public:
    explicit Doorkeeper(bool has_keys) : has_keys_(has_keys) {}

    // One line for the log.
    struct Line {
        std::string from;  // an address; empty if unknown
        std::string because;
        uint64_t times = 0;
    };
    std::optional<Line> on_event(const control_zmq::ConnectionEvent& event, base::TimePoint now);

  private:
    using Kind = control_zmq::ConnectionEvent::Kind;

    const char* words_for(Kind kind) const;
    static const char* words_for_end_after(Kind failure);

    bool has_keys_;
    // The failure that was reported last. The end of the same connection follows it.
    Kind failure_ = Kind::greeted;
    // The peer of the last accepted connection. ZeroMQ does not say whose handshake failed; nearly
    // always it is this peer's.
    std::string last_peer_;
    base::Repeated repeated_;
};

}  // namespace pace::controller
