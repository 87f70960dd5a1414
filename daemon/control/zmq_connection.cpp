#include "daemon/control/zmq_connection.h"

#include <sys/epoll.h>

#include <utility>

#include "protocol/control_codec.h"

namespace pace::daemon::control {

namespace {

// Limit of messages queued for a controller that does not read. Its silence ends the attachment
// earlier, unless this daemon sends very many messages.
constexpr control_zmq::Socket::Queues kQueues{.send_max = 10'000, .receive_max = 10'000};

}  // namespace

base::Result<> ZmqConnection::read_keys(const std::string& controller_key_file,
                                        const std::string& secret_key_file) {
    PACE_TRY_ASSIGN(controller, control_zmq::PublicKey::read(controller_key_file));
    PACE_TRY_ASSIGN(own, control_zmq::SecretKey::read(secret_key_file));
    controller_key_.emplace(controller);
    secret_key_.emplace(own);
    return {};
}

base::Result<> ZmqConnection::open() {
    PACE_TRY_ASSIGN(fresh, control_zmq::Socket::create(context_, control_zmq::SocketType::dealer,
                                                       protocol::kToDaemonBytesMax, kQueues));
    if (secret_key_) PACE_TRY(fresh.use_curve(*controller_key_, *secret_key_));
    if (reconnects()) PACE_TRY(fresh.watch_connections());
    PACE_TRY(fresh.connect(endpoint_));
    // Only wakes the loop: poll() then looks for messages.
    PACE_TRY(loop_.watch(fresh.fd(), EPOLLIN, [](uint32_t) {}));
    socket_.emplace(std::move(fresh));
    opened_at_ = base::now();
    return {};
}

void ZmqConnection::close() {
    if (!socket_) return;
    loop_.unwatch(socket_->fd());
    socket_.reset();
}

std::optional<control_zmq::ConnectionEvent> ZmqConnection::next_event() {
    if (!socket_ || socket_->monitor() == nullptr) return std::nullopt;
    return socket_->monitor()->next();
}

void ZmqConnection::reopen() {
    close();
    [[maybe_unused]] const auto opened = open();
}

bool ZmqConnection::send(std::span<const std::byte> message) {
    return socket_ && socket_->send(message) == control_zmq::Sent::done;
}

Connection::Received ZmqConnection::receive(std::span<const std::byte>& ret_bytes) {
    if (!socket_ || !socket_->receive(message_)) return Received::nothing;
    if (message_.count != 1) return Received::malformed;
    ret_bytes = message_.frames[0];
    return Received::message;
}

}  // namespace pace::daemon::control
