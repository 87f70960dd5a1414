// Monitor: what becomes of a socket's connections, as far as it tells why there is none; and how many there are at most, of a socket that
// listens. Each may have messages wait in memory, some of them half read, before anybody has said who is there.
//
// ZeroMQ reports from its own thread into a queue of bounded length, and waits while that is full: whoever has a monitor reads it at every
// turn of its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/controller/shell/zmq/context.h"

namespace pace::control_zmq {

struct ConnectionEvent {
    enum class Kind {
        accepted,    // somebody connected to us
        connected,   // we to somebody; nothing was said yet
        greeted,     // the handshake is done
        mechanism,   // only one of the two sides has keys
        key,         // the other side's key is not what was expected
        refused,     // the other side does not let our key in; on the side that listens: we theirs
        broken_off,  // the other side closed the connection during the handshake
        silent,      // the other side said nothing in time
        nonsense,    // it said what no ZeroMQ says
        ended,       // the connection is no more, whatever was said of it before
        too_many,    // somebody connected to us, who was one too many, and was shut out
    };
    Kind kind = Kind::connected;
    std::string peer{};  // its address, of `accepted` and `too_many`; empty if it has gone again
};

class Monitor {
  public:
    // Of the socket with this handle, which outlives the monitor.
    static base::Result<std::unique_ptr<Monitor>> create(const Context& context, void* watched);
    ~Monitor();
    // Whoever connects while there are so many is shut out. ZeroMQ has no such limit itself.
    void set_connections_max(size_t most) { connections_max_ = most; }
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    // What happened next; none if nothing has.
    std::optional<ConnectionEvent> next();

    int fd() const { return fd_; }

  private:
    Monitor(void* watched, void* pair, int fd) : watched_(watched), pair_(pair), fd_(fd) {}

    // `endpoint`: the one of ours that it is about.
    std::optional<ConnectionEvent> event_of(uint16_t event, uint32_t value,
                                            std::string_view endpoint);
    ConnectionEvent accepted(int fd, std::string_view endpoint);

    void* watched_;
    void* pair_;
    int fd_;
    size_t connections_max_ = SIZE_MAX;
    std::set<int> accepted_;  // by what ZeroMQ has for them
};

}  // namespace pace::control_zmq
