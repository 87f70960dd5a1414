// Wire: a daemon's connection to the controller, as ZeroMQ over TCP would be: messages keep their
// order, a connection that breaks loses what is under way, and it is made again by itself. A cut
// holds messages up; neither end is told.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/control/connection.h"
#include "tests/world/clockwork.h"
#include "tests/world/machine.h"

namespace pace::world {

class Wire;

// Exchange of all wires: who is connected under which route. The controller's end.
class Switchboard {
  public:
    struct Letter {
        std::string route;
        std::vector<std::byte> bytes;
    };
    // Called before and after each message: "hello", and whether the daemon or the controller says
    // it. False: the sender has died at this point, and the message is not sent.
    using Point = std::function<bool(const char* when, std::span<const std::byte> message,
                                     MachineId from, MachineId to)>;

    Switchboard(Clockwork& clockwork, Machines& machines, Point point)
        : clockwork_(clockwork), machines_(machines), point_(std::move(point)) {}

    // Whether a controller process listens. Its end breaks all connections.
    void listen(bool listens);
    bool listens() const { return listens_; }
    // Breaks the connections of the daemon on this machine.
    void break_connections(MachineId machine);

    // The next message for the controller, in the order in which they arrive.
    bool receive(Letter& ret_letter);
    // False: nobody is connected under this route.
    bool send(const std::string& route, std::span<const std::byte> message);
    // When the next message arrives in either direction.
    std::optional<TimePoint> next_arrival() const;

  private:
    friend class Wire;

    Clockwork& clockwork_;
    Machines& machines_;
    Point point_;
    bool listens_ = false;
    uint64_t routes_ = 0;
    std::map<std::string, Wire*> connected_;
    std::vector<Wire*> wires_;
};

class Wire final : public daemon::control::Connection {
  public:
    Wire(Switchboard& board, MachineId machine);
    ~Wire() override;
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    // The daemon has died: nothing leaves any more.
    void fall_silent();

    base::Result<> open() override;
    void reopen() override;
    bool connected() const override { return !route_.empty(); }
    bool readable() const override;
    bool send(std::span<const std::byte> message) override;
    Received receive(std::span<const std::byte>& ret_bytes) override;
    std::optional<control_zmq::ConnectionEvent> next_event() override { return {}; }
    void set_linger_ms(int /*milliseconds*/) override {}
    TimePoint opened_at() const override { return opened_at_; }
    bool reconnects() const override { return true; }

  private:
    friend class Switchboard;
    struct Message {
        TimePoint arrives;
        std::vector<std::byte> bytes;
    };

    void connect_later();
    void connect();
    void drop();
    void push(std::deque<Message>& queue, std::span<const std::byte> bytes, MachineId from,
              MachineId to);

    Switchboard& board_;
    MachineId machine_;
    bool silent_ = false;
    std::string route_;  // empty: not connected
    std::shared_ptr<uint64_t> attempt_ = std::make_shared<uint64_t>(0);
    TimePoint opened_at_{};
    std::deque<Message> to_controller_;
    std::deque<Message> to_daemon_;
    std::vector<std::byte> received_;
};

}  // namespace pace::world
