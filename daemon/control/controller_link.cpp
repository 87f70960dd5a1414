#include "daemon/control/controller_link.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "daemon/control/connection.h"
#include "daemon/control/incoming.h"
#include "daemon/control/outgoing.h"
#include "protocol/control_codec.h"

namespace pace::daemon {

namespace wire = protocol::control;
using base::Duration;
using base::TimePoint;
using std::chrono::milliseconds;

namespace {

// A hello that is not answered, or refused, is said again after this, then after twice as long, up
// to the last.
constexpr Duration kHelloFirst = milliseconds(50);
constexpr Duration kHelloLast = milliseconds(200);
constexpr Duration kHelloLastRefused = std::chrono::seconds(1);

constexpr int kBatch = 256;  // messages taken in one turn
constexpr int kGoodbyeLingerMs = 200;

}  // namespace

struct ControllerLink::State {
    // Attaching -> attached -> attaching …, until goodbye.
    enum class Phase { attaching, attached, ended };

    State(base::EventLoop& event_loop, ControllerLinkConfig given, ControlHandler& control_handler)
        : loop(event_loop),
          config(std::move(given)),
          handler(control_handler),
          connection(event_loop, config.context, config.endpoint) {}

    void begin_attaching();
    bool hello_can_be_said() const {
        return phase == Phase::attaching && hello_pending && connection.connected();
    }
    void say_hello();
    void set_timer(Duration delay, void (State::*then)());
    void hello_is_due();
    void expect_heartbeat();
    void heartbeat_is_due();
    bool say_heartbeat();
    void detach(bool excluded, const std::string& reason);
    void check_connection();

    void receive(std::span<const std::byte> bytes_untrusted);
    void on_attached(const wire::Attached& table);
    void on_refused(const wire::Refused& table);
    void on_attached_message(const wire::Envelope& envelope);

    bool transmit(std::span<const std::byte> message);
    template <typename Message>
    bool send(const Message& message);

    base::EventLoop& loop;
    ControllerLinkConfig config;
    ControlHandler& handler;
    control::Connection connection;

    Phase phase = Phase::attaching;
    uint64_t attachment = 0;
    control::NodeId self = 0;
    control::NodeId last_self = 0;
    bool hello_pending = false;
    Duration hello_delay = kHelloFirst;
    std::string refusal;  // said last
    Duration refused_delay{};
    Duration heartbeat = milliseconds(200);
    TimePoint heard{};
    TimePoint heartbeat_due{};
    bool reachable = false;
    bool broken = false;
    base::EventLoop::TimerId timer = 0;

    control::Outgoing outgoing;
    control::GroupOrder order;  // its memory serves every order
    control::Heartbeat heartbeat_said;
    Counters counters;
};

// -------------------------------------------------------------------------------------- attachment

// Is the connection under the attachment still there? Asked before each sleep: a controller that
// was killed is missed at once, not at the next heartbeat.
void ControllerLink::State::check_connection() {
    if (phase == Phase::attached && !connection.connected()) broken = true;
}

void ControllerLink::State::begin_attaching() {
    phase = Phase::attaching;
    self = 0;
    attachment = base::random_token();
    hello_delay = kHelloFirst;
    hello_pending = true;
    set_timer(hello_delay, &State::hello_is_due);
}

void ControllerLink::State::say_hello() {
    hello_pending = false;
    outgoing.set_attachment(0, attachment);
    transmit(
        outgoing.write(control::Hello{config.name, config.generation, config.address, config.host,
                                      config.processors, last_self, config.zone, config.nccl}));
}

void ControllerLink::State::set_timer(Duration delay, void (State::*then)()) {
    if (timer != 0) loop.cancel_timer(timer);
    timer = loop.run_after(delay, [this, then] {
        timer = 0;
        (this->*then)();
    });
}

// The hello itself is said by poll(), as soon as there is a connection to say it to.
void ControllerLink::State::hello_is_due() {
    const bool connected = connection.connected();
    // A connection may stand while its other end is frozen, or gone without a word.
    const bool stale = base::now() - std::max(heard, connection.opened_at()) > config.silence_max;
    if (stale || (!connected && !connection.reconnects())) connection.reopen();
    if (stale || !connected) reachable = false;
    hello_pending = true;
    hello_delay = std::min(hello_delay * 2, kHelloLast);
    set_timer(hello_delay, &State::hello_is_due);
}

void ControllerLink::State::expect_heartbeat() {
    heartbeat_due = base::now() + heartbeat;
    set_timer(heartbeat, &State::heartbeat_is_due);
}

void ControllerLink::State::heartbeat_is_due() {
    const TimePoint now = base::now();
    const Duration silent = now - heard;
    // A process that was frozen itself has not read yet what was said to it.
    const bool was_frozen = now - heartbeat_due > config.silence_max / 4;
    expect_heartbeat();
    if (silent > config.silence_max && !was_frozen) {
        reachable = false;
        detach(false, fmt::format("nothing heard from the controller for {} ms",
                                  silent / milliseconds(1)));
        connection.reopen();
        return;
    }
    say_heartbeat();
}

bool ControllerLink::State::say_heartbeat() {
    heartbeat_said.workers.clear();
    heartbeat_said.groups.clear();
    heartbeat_said.links.clear();
    handler.report(heartbeat_said);
    return send(heartbeat_said);
}

void ControllerLink::State::detach(bool excluded, const std::string& reason) {
    if (phase != Phase::attached) return;
    begin_attaching();
    handler.on_detached(excluded, reason);
}

// ----------------------------------------------------------------------------------------- receive

void ControllerLink::State::receive(std::span<const std::byte> bytes_untrusted) {
    ++counters.received;
    const auto verified = protocol::verify_envelope(bytes_untrusted);
    if (!verified) {
        ++counters.malformed;
        return;
    }
    const wire::Envelope& envelope = **verified;
    if (const auto* reply = envelope.body_as_StatusReply()) {
        reachable = true;
        handler.on_status_reply(control::read(*reply));
        return;
    }
    if (phase == Phase::ended || envelope.attachment() != attachment) {
        ++counters.stale;
        return;
    }
    heard = base::now();
    reachable = true;
    if (const auto* attached = envelope.body_as_Attached())
        on_attached(*attached);
    else if (const auto* refused = envelope.body_as_Refused())
        on_refused(*refused);
    else if (phase == Phase::attached)
        on_attached_message(envelope);
    else
        ++counters.stale;
}

void ControllerLink::State::on_attached(const wire::Attached& table) {
    if (phase == Phase::attached) return;  // the answer to a heartbeat
    if (table.node() == 0) {
        ++counters.malformed;
        return;
    }
    phase = Phase::attached;
    self = last_self = table.node();
    hello_pending = false;
    refusal.clear();
    refused_delay = {};
    heartbeat = milliseconds(std::clamp<uint32_t>(table.heartbeat_ms(), 1, 60'000));
    outgoing.set_attachment(self, attachment);
    ++counters.attachments;
    expect_heartbeat();
    handler.on_attached(self);
}

void ControllerLink::State::on_refused(const wire::Refused& table) {
    if (phase != Phase::attaching) return;
    const base::Error error = control::read_error(table.kind(), table.message());
    hello_pending = false;
    refused_delay = std::clamp(refused_delay * 2, kHelloFirst, kHelloLastRefused);
    set_timer(refused_delay, &State::hello_is_due);
    if (error.message == refusal) return;
    refusal = error.message;
    handler.on_refused(error);
}

void ControllerLink::State::on_attached_message(const wire::Envelope& envelope) {
    if (envelope.body_type() == wire::Body::Probe) {
        // Any message proves that we live; a heartbeat is the one that is always right.
        say_heartbeat();
    } else if (const auto* table = envelope.body_as_NotAttached()) {
        const auto reason = protocol::text_of(table->reason(), protocol::kReasonBytesMax);
        detach(table->excluded(), std::string(reason));
    } else if (!control::deliver(envelope, handler, order)) {
        ++counters.malformed;
    }
}

// -------------------------------------------------------------------------------------------- send

bool ControllerLink::State::transmit(std::span<const std::byte> bytes) {
    if (!connection.send(bytes)) return false;
    ++counters.sent;
    return true;
}

template <typename Message>
bool ControllerLink::State::send(const Message& said) {
    if (phase == Phase::attached && !broken) {
        if (transmit(outgoing.write(said))) return true;
        // Told in poll() and not here, where the caller may be in the middle of anything.
        broken = true;
    }
    ++counters.dropped;
    return false;
}

// ------------------------------------------------------------------------------------------ public

base::Result<std::unique_ptr<ControllerLink>> ControllerLink::create(base::EventLoop& loop,
                                                                     ControllerLinkConfig config,
                                                                     ControlHandler& handler) {
    PACE_TRY(check(config));
    if (!config.context) {
        PACE_TRY_ASSIGN(own, control_zmq::Context::create());
        config.context = std::move(own);
    }
    auto state = std::make_unique<State>(loop, std::move(config), handler);
    const ControllerLinkConfig& given = state->config;
    if (!given.secret_key_file.empty())
        PACE_TRY(state->connection.read_keys(given.controller_key_file, given.secret_key_file));
    PACE_TRY(state->connection.open());
    state->begin_attaching();
    std::unique_ptr<ControllerLink> link(new ControllerLink(std::move(state)));
    loop.add_poller(link.get());
    return link;
}

ControllerLink::ControllerLink(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControllerLink::~ControllerLink() {
    state_->loop.remove_poller(this);
    if (state_->timer != 0) state_->loop.cancel_timer(state_->timer);
}

bool ControllerLink::poll() {
    State& state = *state_;
    bool worked = false;
    for (int taken = 0; taken < kBatch; ++taken) {
        std::span<const std::byte> bytes;
        const auto received = state.connection.receive(bytes);
        if (received == control::Connection::Received::nothing) break;
        worked = true;
        if (received == control::Connection::Received::message)
            state.receive(bytes);
        else
            ++state.counters.malformed;
    }
    // After what had still arrived: it was said before the connection broke.
    if (state.broken) {
        worked = true;
        state.broken = false;
        state.reachable = false;
        state.detach(false, "the connection to the controller broke");
        state.connection.reopen();
    }
    if (state.hello_can_be_said()) {
        worked = true;
        state.say_hello();
    }
    return worked;
}

bool ControllerLink::arm() {
    State& state = *state_;
    state.check_connection();
    return !state.broken && !state.connection.readable() && !state.hello_can_be_said();
}

bool ControllerLink::attached() const {
    return state_->phase == State::Phase::attached;
}

control::NodeId ControllerLink::self() const {
    return state_->self;
}

bool ControllerLink::controller_reachable() const {
    return state_->reachable;
}

const ControllerLink::Counters& ControllerLink::counters() const {
    return state_->counters;
}

template <typename Message>
bool ControllerLink::send(const Message& message) {
    return state_->send(message);
}
template bool ControllerLink::send(const control::PeerLost&);
template bool ControllerLink::send(const control::WorkerJoin&);
template bool ControllerLink::send(const control::JobCreate&);
template bool ControllerLink::send(const control::WorkerLeave&);
template bool ControllerLink::send(const control::WorkerAdmit&);
template bool ControllerLink::send(const control::Ready&);
template bool ControllerLink::send(const control::Withdraw&);
template bool ControllerLink::send(const control::GroupDone&);
template bool ControllerLink::send(const control::ViewPrepared&);
template bool ControllerLink::send(const control::Stalled&);
template bool ControllerLink::send(const control::ServerStored&);
template bool ControllerLink::send(const control::ServerAsked&);
template bool ControllerLink::send(const control::ServerAssigned&);
template bool ControllerLink::send(const control::ServerSaved&);
template bool ControllerLink::send(const control::CheckpointAsked&);

bool ControllerLink::send(const control::StatusRequest& message) {
    if (state_->phase != State::Phase::attached)
        state_->outgoing.set_attachment(0, state_->attachment);
    return state_->transmit(state_->outgoing.write(message));
}

bool ControllerLink::send(const control::Goodbye& message) {
    const bool sent = state_->send(message);
    if (state_->timer != 0) state_->loop.cancel_timer(std::exchange(state_->timer, 0));
    state_->phase = State::Phase::ended;
    state_->self = 0;
    state_->hello_pending = false;
    state_->connection.set_linger_ms(kGoodbyeLingerMs);
    return sent;
}

bool ControllerLink::send_heartbeat() {
    return state_->say_heartbeat();
}

}  // namespace pace::daemon
