// Monitor: reports what happens to a socket's connections and why they fail, and limits the number
// of accepted connections. The limit matters since each connection may hold messages in memory,
// some half read, before the peer has authenticated.
//
// ZeroMQ reports from its own thread into a bounded queue, and waits while the queue is full. So
// the owner reads the monitor in every turn of its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/controller/zmq/context.h"

namespace pace::control_zmq {

struct ConnectionEvent {
    enum class Kind {
        accepted,    // a peer connected to us
        connected,   // we connected to a peer; no handshake yet
        greeted,     // the handshake is done
        mechanism,   // only one of the two sides has keys
        key,         // the other side's key is not what was expected
        refused,     // the listening side rejected the other side's key
        broken_off,  // the other side closed the connection during the handshake
        silent,      // the other side said nothing in time
        nonsense,    // the other side does not speak ZeroMQ
        ended,       // a connection that we made ended, whatever was reported before
        left,        // an accepted connection ended, and heard() was not called for it
        too_many,    // a peer above the limit connected, and was closed
    };
    Kind kind = Kind::connected;
    std::string peer{};  // address, for `accepted`, `too_many` and `left`; empty if unknown
};

class Monitor {
  public:
    // Monitors the socket with the handle `watched`, which must outlive the monitor.
    static base::Result<std::unique_ptr<Monitor>> create(const Context& context, void* watched);
    ~Monitor();
    // While this many connections are open, further ones are closed. ZeroMQ has no such limit.
    void set_connections_max(size_t most) { connections_max_ = most; }
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    // The next event; none if there is none.
    std::optional<ConnectionEvent> next();

    // A message has come from an accepted connection, by Socket::Message::descriptor. So its end is
    // not reported.
    void heard(int descriptor);

    // Closes an accepted connection, by Socket::Message::descriptor. Does nothing if the descriptor
    // is none of an accepted connection any more. If ZeroMQ has used the descriptor for a later
    // connection, that one is closed, and its peer connects again.
    void close_accepted(int descriptor);

    int fd() const { return fd_; }

  private:
    Monitor(void* watched, void* pair, int fd) : watched_(watched), pair_(pair), fd_(fd) {}

    // `endpoint`: our endpoint in the event.
    std::optional<ConnectionEvent> event_of(uint16_t event, uint32_t value,
                                            std::string_view endpoint);
    ConnectionEvent accepted(int fd, std::string_view endpoint);
    std::optional<ConnectionEvent> ended(int fd);

    void* watched_;
    void* pair_;
    int fd_;
    size_t connections_max_ = SIZE_MAX;
    struct Accepted {
        uint16_t port = 0;  // ours
        std::string peer{};
        bool is_known = false;  // it was heard, or its end was announced
    };
    std::map<int, Accepted> accepted_;  // by ZeroMQ's descriptor
};

}  // namespace pace::control_zmq
