// Connection: how a link reaches its controller. One at a time: reopen() replaces it, and messages
// still queued in the old one, in either direction, are lost.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/result.h"
#include "service/controller/zmq/monitor.h"

namespace pace::daemon::control {

class Connection {
  public:
    virtual ~Connection() = default;

    virtual base::Result<> open() = 0;

    // Fails silently if there is no memory or descriptor. Nothing is connected then, and the next
    // reopen() tries again.
    virtual void reopen() = 0;

    // Whether a controller is connected and there is room for a message. Ask again after every
    // operation.
    virtual bool connected() const = 0;
    virtual bool readable() const = 0;

    // Returns false if the message was not queued: the connection is broken or was never there.
    virtual bool send(std::span<const std::byte> message) = 0;
    // Takes the next message. Its bytes are valid until the next receive(). An empty frame is a
    // message too.
    enum class Received { nothing, message, malformed };
    virtual Received receive(std::span<const std::byte>& ret_bytes) = 0;

    // Returns the next event of the connection, in order; none if there is no new one.
    virtual std::optional<control_zmq::ConnectionEvent> next_event() = 0;

    // How long the last messages may take after the end of this object.
    virtual void set_linger_ms(int milliseconds) = 0;
    virtual base::TimePoint opened_at() const = 0;

    // Whether a broken connection is made again without reopen().
    virtual bool reconnects() const = 0;
};

}  // namespace pace::daemon::control
