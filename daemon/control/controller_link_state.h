// ControllerLink::State: the link's state, and its actions at each turn. Only for the link's own
// files.
#pragma once

#include <memory>
#include <string>

#include "daemon/control/clock_offset.h"
#include "daemon/control/connection.h"
#include "daemon/control/controller_link.h"
#include "daemon/control/obstacle.h"
#include "daemon/control/status_questions.h"
#include "protocol/control_codec.h"

namespace pace::daemon {

// First delay before an unanswered or refused hello is repeated. The delay doubles each time, up to
// a maximum.
inline constexpr base::Duration kHelloFirst = std::chrono::milliseconds(50);

struct ControllerLink::State {
    // Idle until begin() and after a goodbye; attaching -> attached -> attaching … between.
    enum class Phase { idle, attaching, attached };

    State(base::EventLoop& event_loop, ControllerLinkConfig given)
        : loop(event_loop), config(std::move(given)), obstacle(config) {}

    void begin_attaching();
    bool hello_can_be_said() const {
        return phase == Phase::attaching && hello_pending && connection->connected();
    }
    void say_hello();
    void set_timer(base::Duration delay, void (State::*then)());
    base::Duration standing_still() const;
    void hello_is_due();
    void complain();
    void expect_heartbeat();
    void heartbeat_is_due();
    bool say_heartbeat();
    void reconnect() {
        status.forget();
        connection->reopen();
    }
    void detach(bool excluded, const std::string& reason);
    void check_connection();

    void receive(std::span<const std::byte> bytes_untrusted);
    // Calls `then` with the message in `table`, if the table can be read.
    template <typename Message, typename Table, typename Then>
    void with(const Table& table, const Then& then);
    void on_status_reply(const protocol::control::StatusReply& table);
    void on_attached(const control::Attached& attached);
    void on_refused(const base::Error& error);
    void on_attached_message(const protocol::control::Envelope& envelope);

    bool transmit(std::span<const std::byte> message);
    void record(RecordKind kind, std::span<const std::byte> bytes) const;
    // Returns one envelope, valid until the next write().
    template <typename Message>
    std::span<const std::byte> write(const Message& said) {
        return writer.write(self, attachment, said);
    }
    template <typename Message>
    bool send(const Message& said);

    base::EventLoop& loop;
    ControllerLinkConfig config;
    ControlHandler* handler = nullptr;                // set by begin()
    std::unique_ptr<control::Connection> connection;  // never null
    control::Obstacle obstacle;

    Phase phase = Phase::idle;
    uint64_t attachment = 0;
    control::NodeId self = 0;
    control::NodeId last_self = 0;
    bool hello_pending = false;
    base::Duration hello_delay = kHelloFirst;
    std::string refusal;  // the last one reported
    base::Duration refused_delay{};
    base::Duration heartbeat = std::chrono::milliseconds(200);
    uint64_t heartbeats = 0;
    // The controller gives up no node after a shorter silence.
    base::Duration silence_min{};
    Doubt doubt;
    ClockOffset clock;
    base::TimePoint heard{};
    base::TimePoint heartbeat_due{};
    bool reachable = false;
    bool broken = false;
    base::Timer timer;

    protocol::EnvelopeWriter writer;
    control::StatusQuestions status;
    // Reused, so that a message of the same kind needs no new memory.
    control::FromController message;
    control::Heartbeat heartbeat_said;
    Counters counters;
};

}  // namespace pace::daemon
