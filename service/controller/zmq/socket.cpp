#include "service/controller/zmq/socket.h"

#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pace::control_zmq {

namespace {

base::Error zmq_error(base::ErrorKind kind, std::string_view what) {
    return base::make_error(kind, "{}: {}", what, zmq_strerror(zmq_errno()));
}

constexpr int kReconnectMs = 50;    // ZeroMQ adds up to as much again at random
constexpr int kConnectMs = 1000;    // a host that does not answer at all
constexpr int kHandshakeMs = 2000;  // a peer that accepts and then says nothing
// TCP keepalive, in seconds: probes a silent connection, whose host may have vanished.
constexpr int kKeepaliveIdle = 10;
constexpr int kKeepaliveInterval = 5;

}  // namespace

base::Result<Socket> Socket::create(std::shared_ptr<Context> context, SocketType type,
                                    size_t bytes_max, Queues queues) {
    void* handle =
        zmq_socket(context->handle(), type == SocketType::router ? ZMQ_ROUTER : ZMQ_DEALER);
    if (handle == nullptr) return zmq_error(base::ErrorKind::limit, "create ZeroMQ socket");
    Socket socket(std::move(context), handle);
    const auto limit = static_cast<int64_t>(bytes_max);
    PACE_TRY(socket.set(ZMQ_MAXMSGSIZE, &limit, sizeof(limit), "limit message size"));
    PACE_TRY(socket.set(ZMQ_LINGER, 0, "set linger"));
    PACE_TRY(socket.set(ZMQ_SNDHWM, queues.send_max, "limit send queue"));
    PACE_TRY(socket.set(ZMQ_RCVHWM, queues.receive_max, "limit receive queue"));
    PACE_TRY(socket.set(ZMQ_HANDSHAKE_IVL, kHandshakeMs, "set handshake deadline"));
    // TCP_USER_TIMEOUT on Linux: applies to bytes not acknowledged, and to bytes for which the peer
    // has no room.
    PACE_TRY(socket.set(ZMQ_TCP_MAXRT, kUnmovedMs, "bound how long bytes may be on their way"));
    PACE_TRY(socket.set(ZMQ_TCP_KEEPALIVE, 1, "ask after silent connections"));
    PACE_TRY(socket.set(ZMQ_TCP_KEEPALIVE_IDLE, kKeepaliveIdle, "set keepalive"));
    PACE_TRY(socket.set(ZMQ_TCP_KEEPALIVE_INTVL, kKeepaliveInterval, "set keepalive"));
    if (type == SocketType::router) {
        // Sending to a peer that is gone is then an error instead of a silent loss.
        PACE_TRY(socket.set(ZMQ_ROUTER_MANDATORY, 1, "make routes mandatory"));
    } else {
        // Nothing is queued for a connection that is not established, and the queue is dropped with
        // the connection. So a message never reaches a controller for which it was not meant.
        PACE_TRY(socket.set(ZMQ_IMMEDIATE, 1, "forbid queueing while disconnected"));
        PACE_TRY(socket.set(ZMQ_RECONNECT_IVL, kReconnectMs, "set reconnect interval"));
        PACE_TRY(socket.set(ZMQ_CONNECT_TIMEOUT, kConnectMs, "set connect deadline"));
    }
    size_t size = sizeof(socket.fd_);
    if (zmq_getsockopt(handle, ZMQ_FD, &socket.fd_, &size) != 0)
        return zmq_error(base::ErrorKind::internal, "get ZeroMQ descriptor");
    return socket;
}

Socket::Socket(std::shared_ptr<Context> context, void* handle)
    : context_(std::move(context)), handle_(handle) {}

Socket::Socket(Socket&& other) noexcept
    : context_(std::move(other.context_)),
      handle_(std::exchange(other.handle_, nullptr)),
      fd_(std::exchange(other.fd_, -1)),
      monitor_(std::move(other.monitor_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        close();
        context_ = std::move(other.context_);
        handle_ = std::exchange(other.handle_, nullptr);
        fd_ = std::exchange(other.fd_, -1);
        monitor_ = std::move(other.monitor_);
    }
    return *this;
}

Socket::~Socket() {
    close();
}

void Socket::close() {
    monitor_.reset();
    if (handle_ != nullptr) zmq_close(std::exchange(handle_, nullptr));
    fd_ = -1;
}

base::Result<> Socket::set(int option, const void* value, size_t bytes, const char* what) {
    if (zmq_setsockopt(handle_, option, value, bytes) != 0)
        return zmq_error(base::ErrorKind::internal, what);
    return {};
}

base::Result<> Socket::set(int option, int value, const char* what) {
    return set(option, &value, sizeof(value), what);
}

base::Result<> Socket::serve_curve(const SecretKey& secret) {
    PACE_TRY(set(ZMQ_CURVE_SERVER, 1, "serve CURVE"));
    return set(ZMQ_CURVE_SECRETKEY, secret.bytes().data(), secret.bytes().size(),
               "set CURVE secret key");
}

base::Result<> Socket::use_curve(const PublicKey& server, const SecretKey& own) {
    PACE_TRY(set(ZMQ_CURVE_SERVERKEY, server.bytes().data(), server.bytes().size(),
                 "set CURVE server key"));
    const PublicKey own_public = own.public_key();
    PACE_TRY(set(ZMQ_CURVE_PUBLICKEY, own_public.bytes().data(), own_public.bytes().size(),
                 "set CURVE public key"));
    return set(ZMQ_CURVE_SECRETKEY, own.bytes().data(), own.bytes().size(), "set CURVE secret key");
}

base::Result<> Socket::set_zap_domain(std::string_view domain) {
    return set(ZMQ_ZAP_DOMAIN, domain.data(), domain.size(), "set authentication domain");
}

base::Result<> Socket::watch_connections() {
    PACE_TRY_ASSIGN(monitor, Monitor::create(*context_, handle_));
    monitor_ = std::move(monitor);
    return {};
}

base::Result<> Socket::bind(const std::string& endpoint) {
    if (endpoint.find('[') != std::string::npos) PACE_TRY(set(ZMQ_IPV6, 1, "allow IPv6"));
    if (zmq_bind(handle_, endpoint.c_str()) == 0) return {};
    switch (zmq_errno()) {
        case EADDRINUSE:
            return base::make_error(base::ErrorKind::taken,
                                    "{} is in use; stop what listens there, or choose port 0",
                                    endpoint);
        case EADDRNOTAVAIL:
        case ENODEV:
            return base::make_error(base::ErrorKind::invalid,
                                    "{} is no address of this machine; see `ip address`", endpoint);
        case EACCES:
            return zmq_error(base::ErrorKind::denied, "listen on " + endpoint);
        default:
            return zmq_error(base::ErrorKind::invalid, "listen on " + endpoint);
    }
}

base::Result<> Socket::connect(const std::string& endpoint) {
    if (endpoint.find('[') != std::string::npos) PACE_TRY(set(ZMQ_IPV6, 1, "allow IPv6"));
    if (zmq_connect(handle_, endpoint.c_str()) != 0)
        return zmq_error(base::ErrorKind::invalid, "connect to " + endpoint);
    return {};
}

std::string Socket::last_endpoint() const {
    std::array<char, 1024> text{};
    size_t size = text.size();
    if (zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text.data(), &size) != 0) return {};
    return text.data();
}

void Socket::set_linger_ms(int milliseconds) {
    zmq_setsockopt(handle_, ZMQ_LINGER, &milliseconds, sizeof(milliseconds));
}

bool Socket::has_event(int event) const {
    int events = 0;
    size_t size = sizeof(events);
    if (zmq_getsockopt(handle_, ZMQ_EVENTS, &events, &size) != 0) return false;
    return (events & event) != 0;
}

bool Socket::readable() const {
    return has_event(ZMQ_POLLIN);
}

bool Socket::writable() const {
    return has_event(ZMQ_POLLOUT);
}

namespace {

// Reads what ZeroMQ knows of the connection. A router's first frame, with the route, has it only if
// readable() was not asked before; the frames that the peer sent have it always.
void read_sender(zmq_msg_t& frame, Socket::Message& ret_message) {
    if (const char* const peer = zmq_msg_gets(&frame, "Peer-Address")) ret_message.peer = peer;
    if (const char* const key = zmq_msg_gets(&frame, "User-Id")) ret_message.key = key;
    const int descriptor = zmq_msg_get(&frame, ZMQ_SRCFD);
    if (descriptor >= 0) ret_message.descriptor = descriptor;
}

}  // namespace

bool Socket::receive(Message& ret_message) {
    ret_message.count = 0;
    ret_message.peer.clear();
    ret_message.key.clear();
    ret_message.descriptor = -1;
    zmq_msg_t part;
    zmq_msg_init(&part);
    bool more = true;
    while (more) {
        // All parts of a message arrive together, so only the first can be missing.
        if (zmq_msg_recv(&part, handle_, ZMQ_DONTWAIT) < 0) {
            ret_message.count = 0;
            break;
        }
        more = zmq_msg_more(&part) != 0;
        // Frames beyond the most that our messages have are read and dropped.
        constexpr size_t kFramesMax = 16;
        if (ret_message.count == kFramesMax) continue;
        if (ret_message.frames.size() == ret_message.count) ret_message.frames.emplace_back();
        const auto* data = static_cast<const std::byte*>(zmq_msg_data(&part));
        ret_message.frames[ret_message.count++].assign(data, data + zmq_msg_size(&part));
        if (ret_message.count <= 2) read_sender(part, ret_message);
    }
    zmq_msg_close(&part);
    return ret_message.count > 0;
}

Sent Socket::send_frame(std::span<const std::byte> frame, int flags) {
    if (zmq_send(handle_, frame.data(), frame.size(), flags | ZMQ_DONTWAIT) >= 0) return Sent::done;
    return zmq_errno() == EAGAIN ? Sent::full : Sent::gone;
}

Sent Socket::send(std::span<const std::byte> frame) {
    return send_frame(frame, 0) == Sent::done ? Sent::done : Sent::gone;
}

Sent Socket::send(std::string_view route, std::span<const std::byte> frame) {
    const std::array<std::span<const std::byte>, 2> frames{
        std::as_bytes(std::span(route.data(), route.size())), frame};
    return send_all(frames);
}

// Only the first frame can fail: it selects the peer, and reserves room for the rest.
Sent Socket::send_all(std::span<const std::span<const std::byte>> frames) {
    for (size_t i = 0; i < frames.size(); ++i) {
        const Sent sent = send_frame(frames[i], i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
        if (sent != Sent::done) return sent;
    }
    return Sent::done;
}

}  // namespace pace::control_zmq
