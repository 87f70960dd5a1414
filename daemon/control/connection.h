// Connection: the link's ZeroMQ socket to the controller, its keys, and its place in the loop.
//
// One connection at a time. reopen() makes a fresh one: what the old one still held, in either
// direction, goes with it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/event_loop.h"
#include "base/result.h"
#include "service/controller/shell/zmq/context.h"
#include "service/controller/shell/zmq/curve_keys.h"
#include "service/controller/shell/zmq/socket.h"

namespace pace::daemon::control {

class Connection {
  public:
    Connection(base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
               std::string endpoint)
        : loop_(loop), context_(std::move(context)), endpoint_(std::move(endpoint)) {}
    ~Connection() { close(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Before the first open(), if CURVE is used.
    base::Result<> read_keys(const std::string& controller_key_file,
                             const std::string& secret_key_file);

    base::Result<> open();

    // Fails silently if there is no memory or descriptor for a socket now: nothing is connected
    // then, and the next reopen() tries again.
    void reopen();

    // Is there a controller at the other end, with room for a message? Asked again after anything
    // that touches the socket.
    bool connected() const { return socket_ && socket_->writable(); }
    bool readable() const { return socket_ && socket_->readable(); }

    // False if the message was not handed over: the connection is broken, or never was.
    bool send(std::span<const std::byte> message);
    // The next message's bytes, valid until the next receive(); empty frames are messages too.
    enum class Received { nothing, message, malformed };
    Received receive(std::span<const std::byte>& ret_bytes);

    // What became of connections, one after the other; none if nothing has since.
    std::optional<control_zmq::ConnectionEvent> next_event();

    void set_linger_ms(int milliseconds) {
        if (socket_) socket_->set_linger_ms(milliseconds);
    }
    base::TimePoint opened_at() const { return opened_at_; }

    // ZeroMQ reconnects by itself, but not over inproc.
    bool reconnects() const { return !endpoint_.starts_with("inproc://"); }

  private:
    void close();

    base::EventLoop& loop_;
    std::shared_ptr<control_zmq::Context> context_;
    const std::string endpoint_;
    std::optional<control_zmq::PublicKey> controller_key_;
    std::optional<control_zmq::SecretKey> secret_key_;
    std::optional<control_zmq::Socket> socket_;
    control_zmq::Socket::Message message_;
    base::TimePoint opened_at_{};
};

}  // namespace pace::daemon::control
