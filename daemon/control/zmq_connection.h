// ZmqConnection: the link's ZeroMQ socket to the controller, its keys, and its watch in the loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/loop/event_loop.h"
#include "daemon/control/connection.h"
#include "service/controller/zmq/context.h"
#include "service/controller/zmq/curve_keys.h"
#include "service/controller/zmq/socket.h"

namespace pace::daemon::control {

class ZmqConnection final : public Connection {
  public:
    ZmqConnection(base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
                  std::string endpoint)
        : loop_(loop), context_(std::move(context)), endpoint_(std::move(endpoint)) {}
    ~ZmqConnection() override { close(); }
    ZmqConnection(const ZmqConnection&) = delete;
    ZmqConnection& operator=(const ZmqConnection&) = delete;

    // Must be called before the first open() if CURVE is used.
    base::Result<> read_keys(const std::string& controller_key_file,
                             const std::string& secret_key_file);

    base::Result<> open() override;
    void reopen() override;
    bool connected() const override { return socket_ && socket_->writable(); }
    bool readable() const override { return socket_ && socket_->readable(); }
    bool send(std::span<const std::byte> message) override;
    Received receive(std::span<const std::byte>& ret_bytes) override;
    std::optional<control_zmq::ConnectionEvent> next_event() override;
    void set_linger_ms(int milliseconds) override {
        if (socket_) socket_->set_linger_ms(milliseconds);
    }
    base::TimePoint opened_at() const override { return opened_at_; }
    // ZeroMQ reconnects by itself, but not over inproc.
    bool reconnects() const override { return !endpoint_.starts_with("inproc://"); }

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
