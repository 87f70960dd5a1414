#include "service/controller/zmq/monitor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/unique_fd.h"

namespace pace::control_zmq {

namespace {

using Kind = ConnectionEvent::Kind;

constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED;

base::Error monitor_error(const char* what) {
    return base::make_error(base::ErrorKind::limit, "{}: {}", what, zmq_strerror(zmq_errno()));
}

// The peer's address, if the descriptor is still what ZeroMQ reported.
std::string peer_of(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (address.ss_family == AF_INET)
        bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    if (address.ss_family == AF_INET6)
        bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (bytes == nullptr ||
        inet_ntop(address.ss_family, bytes, text.data(), text.size()) == nullptr)
        return {};
    return text.data();
}

Kind kind_of_protocol_error(uint32_t value) {
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return Kind::mechanism;
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC ||
        value == ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE)
        return Kind::key;
    return Kind::nonsense;
}

Kind kind_without_detail(uint32_t error_number) {
    const bool closed = error_number == EPIPE || error_number == ECONNRESET ||
                        error_number == ECONNABORTED || error_number == ENOTCONN;
    return closed ? Kind::broken_off : Kind::silent;
}

// The local port of a TCP connection; 0 if the descriptor is none.
uint16_t local_port_of(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    if (address.ss_family == AF_INET)
        return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
    if (address.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port);
    return 0;
}

// The endpoint's port; 0 if it has none.
uint16_t port_of(std::string_view endpoint) {
    const size_t colon = endpoint.rfind(':');
    uint16_t port = 0;
    if (colon != std::string_view::npos)
        std::from_chars(endpoint.data() + colon + 1, endpoint.data() + endpoint.size(), port);
    return port;
}

// ZeroMQ may have closed the connection already, and its descriptor may be reused. A copy of the
// descriptor does not change. It is shut down only if its local port is `port`.
void shut_out(int fd, uint16_t port) {
    const base::UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (copy.valid() && port != 0 && local_port_of(copy.get()) == port)
        shutdown(copy.get(), SHUT_RDWR);
}

}  // namespace

ConnectionEvent Monitor::accepted(int fd, std::string_view endpoint) {
    Accepted& it = accepted_[fd] = {.port = port_of(endpoint), .peer = peer_of(fd)};
    if (accepted_.size() <= connections_max_) return {Kind::accepted, it.peer};
    it.is_known = true;
    shut_out(fd, it.port);
    return {Kind::too_many, it.peer};
}

std::optional<ConnectionEvent> Monitor::ended(int fd) {
    const auto found = accepted_.find(fd);
    if (found == accepted_.end()) return ConnectionEvent{Kind::ended};
    const Accepted it = std::move(found->second);
    accepted_.erase(found);
    if (it.is_known) return std::nullopt;
    return ConnectionEvent{Kind::left, it.peer};
}

void Monitor::heard(int descriptor) {
    const auto found = accepted_.find(descriptor);
    if (found != accepted_.end()) found->second.is_known = true;
}

void Monitor::close_accepted(int descriptor) {
    const auto found = accepted_.find(descriptor);
    if (found != accepted_.end()) shut_out(found->first, found->second.port);
}

std::optional<ConnectionEvent> Monitor::event_of(uint16_t event, uint32_t value,
                                                 std::string_view endpoint) {
    switch (event) {
        case ZMQ_EVENT_ACCEPTED:
            return accepted(static_cast<int>(value), endpoint);
        case ZMQ_EVENT_DISCONNECTED:
            return ended(static_cast<int>(value));
        case ZMQ_EVENT_CONNECTED:
            return ConnectionEvent{Kind::connected};
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            return ConnectionEvent{Kind::greeted};
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            return ConnectionEvent{Kind::refused};
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            return ConnectionEvent{kind_of_protocol_error(value)};
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            return ConnectionEvent{kind_without_detail(value)};
        default:
            return std::nullopt;
    }
}

base::Result<std::unique_ptr<Monitor>> Monitor::create(const Context& context, void* watched) {
    // Endpoint names are per context, which several sockets share.
    static std::atomic<uint64_t> made{0};
    const std::string name = fmt::format("inproc://pace-monitor-{}", ++made);
    if (zmq_socket_monitor(watched, name.c_str(), kEvents) != 0)
        return monitor_error("monitor a ZeroMQ socket");
    void* pair = zmq_socket(context.handle(), ZMQ_PAIR);
    if (pair == nullptr) {
        zmq_socket_monitor(watched, nullptr, 0);
        return monitor_error("create a ZeroMQ socket");
    }
    int fd = -1;
    size_t size = sizeof(fd);
    auto monitor = std::unique_ptr<Monitor>(new Monitor(watched, pair, fd));
    if (zmq_connect(pair, name.c_str()) != 0 || zmq_getsockopt(pair, ZMQ_FD, &fd, &size) != 0)
        return monitor_error("monitor a ZeroMQ socket");
    monitor->fd_ = fd;
    return monitor;
}

Monitor::~Monitor() {
    // With a full queue ZeroMQ would wait for us while we wait for ZeroMQ.
    while (next()) {
    }
    zmq_socket_monitor(watched_, nullptr, 0);
    zmq_close(pair_);
}

std::optional<ConnectionEvent> Monitor::next() {
    for (;;) {
        // First the event and its value, then our own endpoint.
        std::array<std::byte, sizeof(uint16_t) + sizeof(uint32_t)> bytes{};
        const int got = zmq_recv(pair_, bytes.data(), bytes.size(), ZMQ_DONTWAIT);
        if (got < 0) return std::nullopt;
        std::array<char, 256> endpoint{};
        const int said = zmq_recv(pair_, endpoint.data(), endpoint.size(), ZMQ_DONTWAIT);
        // A longer endpoint is cut off.
        const size_t length = std::min(endpoint.size(), static_cast<size_t>(std::max(0, said)));
        if (got != static_cast<int>(bytes.size())) continue;
        uint16_t event = 0;
        uint32_t value = 0;
        std::memcpy(&event, bytes.data(), sizeof(event));
        std::memcpy(&value, bytes.data() + sizeof(event), sizeof(value));
        if (auto read = event_of(event, value, {endpoint.data(), length})) return read;
    }
}

}  // namespace pace::control_zmq
