#include "daemon/control/controller_link.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/random.h"
#include "daemon/control/controller_link_state.h"
#include "daemon/control/zmq_connection.h"
#include "protocol/version.h"

namespace pace::daemon {

using base::Duration;
using base::TimePoint;
using std::chrono::milliseconds;

namespace {

// Maximum of the delay that starts at kHelloFirst.
constexpr Duration kHelloLast = milliseconds(200);

constexpr Duration kTurnedAwayWait = milliseconds(500);

uint64_t unix_ms() {
    return static_cast<uint64_t>(base::since_1970() / milliseconds(1));
}

constexpr int kBatch = 256;  // messages taken in one turn
constexpr int kGoodbyeLingerMs = 200;

base::Result<std::unique_ptr<control::Connection>> connection_of(
    base::EventLoop& loop, const ControllerLinkConfig& config) {
    if (config.connect) return config.connect();
    std::shared_ptr<control_zmq::Context> context = config.context;
    if (!context) {
        PACE_TRY_ASSIGN(own, control_zmq::Context::create());
        context = std::move(own);
    }
    auto made = std::make_unique<control::ZmqConnection>(loop, std::move(context), config.endpoint);
    if (!config.secret_key_file.empty())
        PACE_TRY(made->read_keys(config.controller_key_file, config.secret_key_file));
    return {std::move(made)};
}

}  // namespace

// -------------------------------------------------------------------------------------- attachment

// Checks the connection before each sleep, so that a killed controller is noticed at once, not at
// the next heartbeat.
void ControllerLink::State::check_connection() {
    if (phase == Phase::attached && !connection->connected()) broken = true;
}

void ControllerLink::State::begin_attaching() {
    phase = Phase::attaching;
    self = 0;
    attachment = base::random_token();
    hello_delay = kHelloFirst;
    hello_pending = true;
    obstacle.begin(base::now());
    set_timer(hello_delay, &State::hello_is_due);
}

void ControllerLink::State::say_hello() {
    hello_pending = false;
    transmit(write(control::Hello{.version = protocol::kVersion,
                                  .name = config.name,
                                  .generation = config.generation,
                                  .address = config.address,
                                  .host = config.host,
                                  .processors = config.processors,
                                  .last_id = last_self,
                                  .zone = config.zone,
                                  .nccl = config.nccl,
                                  .hosted = config.hosted,
                                  .least = protocol::kVersionLeast,
                                  .release = PACE_VERSION}));
}

void ControllerLink::State::set_timer(Duration delay, void (State::*then)()) {
    const TimePoint now = base::now_through_sleep();
    doubt.look(now);
    if (last_self != 0) doubt.expect(now + delay, standing_still());
    timer = loop.run_after(delay, [this, then] { (this->*then)(); });
}

// How late the loop may run without a risk that the node was given up. While it is not attached,
// the risk is a restarted controller that waits for its daemons.
Duration ControllerLink::State::standing_still() const {
    if (phase != Phase::attached) return config.silence_max / 2;
    return std::max<Duration>(silence_min - heartbeat, heartbeat) / 2;
}

// Only marks the hello as pending: poll() sends it as soon as there is a connection.
void ControllerLink::State::hello_is_due() {
    const bool connected = connection->connected();
    // A connection may appear intact while its other end is frozen or has vanished.
    const bool stale = base::now() - std::max(heard, connection->opened_at()) > config.silence_max;
    const bool turned_away = !connected && obstacle.is_turned_away() &&
                             base::now() - connection->opened_at() > kTurnedAwayWait;
    if (stale || turned_away || (!connected && !connection->reconnects())) reconnect();
    if (stale || !connected) reachable = false;
    hello_pending = true;
    hello_delay = std::min(hello_delay * 2, kHelloLast);
    set_timer(hello_delay, &State::hello_is_due);
    complain();
}

void ControllerLink::State::complain() {
    if (const auto complaint = obstacle.look(base::now()))
        handler->on_not_attached(complaint->because, complaint->since);
}

void ControllerLink::State::expect_heartbeat() {
    heartbeat_due = base::now() + heartbeat;
    set_timer(heartbeat, &State::heartbeat_is_due);
}

void ControllerLink::State::heartbeat_is_due() {
    const TimePoint now = base::now();
    const Duration silent = now - heard;
    counters.heartbeat_late = std::max(counters.heartbeat_late, now - heartbeat_due);
    // A process that was frozen itself has not yet read the messages sent to it.
    const bool was_frozen = now - heartbeat_due > config.silence_max / 4;
    expect_heartbeat();
    if (silent > config.silence_max && !was_frozen) {
        reachable = false;
        detach(false, fmt::format("nothing heard from the controller for {} ms",
                                  silent / milliseconds(1)));
        reconnect();
        return;
    }
    say_heartbeat();
}

bool ControllerLink::State::say_heartbeat() {
    heartbeat_said.workers.clear();
    heartbeat_said.groups.clear();
    heartbeat_said.links.clear();
    heartbeat_said.number = ++heartbeats;
    handler->report(heartbeat_said);
    heartbeat_said.unix_ms = unix_ms();
    // Taken before send(): the answer may have been written before send() returns.
    const uint64_t leaves_ns = base::now_ns();
    if (!send(heartbeat_said)) return false;
    doubt.said(heartbeat_said.number);
    clock.said(heartbeat_said.number, leaves_ns);
    return true;
}

void ControllerLink::State::detach(bool excluded, const std::string& reason) {
    if (phase != Phase::attached) return;
    doubt.detached();
    clock.forget();
    begin_attaching();
    handler->on_detached(excluded, reason);
}

// -------------------------------------------------------------------------------------------- send

bool ControllerLink::State::transmit(std::span<const std::byte> bytes) {
    if (!connection->send(bytes)) return false;
    ++counters.sent;
    record(RecordKind::message_out, bytes);
    return true;
}

// `bytes` must be a verified envelope, or our own.
void ControllerLink::State::record(RecordKind kind, std::span<const std::byte> bytes) const {
    if (!config.recorder) return;
    const auto body = protocol::control::GetEnvelope(bytes.data())->body_type();
    config.recorder->note(
        {.kind = kind, .detail = static_cast<uint8_t>(body), .amount = bytes.size()});
}

template <typename Message>
bool ControllerLink::State::send(const Message& said) {
    if (phase == Phase::attached && !broken) {
        if (transmit(write(said))) return true;
        // Reported in poll() and not here, where the caller may be in the middle of anything.
        broken = true;
    }
    ++counters.dropped;
    return false;
}

// ------------------------------------------------------------------------------------------ public

base::Result<std::unique_ptr<ControllerLink>> ControllerLink::create(base::EventLoop& loop,
                                                                     ControllerLinkConfig config) {
    PACE_TRY(check(config));
    auto state = std::make_unique<State>(loop, std::move(config));
    PACE_TRY_ASSIGN(connection, connection_of(loop, state->config));
    state->connection = std::move(connection);
    return std::unique_ptr<ControllerLink>(new ControllerLink(std::move(state)));
}

base::Result<> ControllerLink::begin(ControlHandler& handler) {
    state_->handler = &handler;
    PACE_TRY(state_->connection->open());
    state_->begin_attaching();
    state_->loop.add_poller(this);
    return {};
}

ControllerLink::ControllerLink(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControllerLink::~ControllerLink() {
    state_->loop.remove_poller(this);
}

bool ControllerLink::poll() {
    State& state = *state_;
    bool worked = false;
    for (int taken = 0; taken < kBatch; ++taken) {
        std::span<const std::byte> bytes;
        const auto received = state.connection->receive(bytes);
        if (received == control::Connection::Received::nothing) break;
        worked = true;
        if (received == control::Connection::Received::message)
            state.receive(bytes);
        else
            ++state.counters.malformed;
    }
    while (const auto event = state.connection->next_event())
        state.obstacle.on_event(*event, base::now());
    // Handled after the messages that had still arrived, which were sent before the connection
    // broke.
    if (state.broken) {
        worked = true;
        state.broken = false;
        state.reachable = false;
        state.detach(false, "the connection to the controller broke");
        state.reconnect();
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
    return !state.broken && !state.connection->readable() && !state.hello_can_be_said();
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

std::optional<base::Error> ControllerLink::problem() const {
    if (state_->phase != State::Phase::attaching) return std::nullopt;
    return state_->obstacle.problem(base::now());
}

const ControllerLink::Counters& ControllerLink::counters() const {
    return state_->counters;
}

bool ControllerLink::send(const control::FromDaemon& message) {
    return std::visit([this](const auto& said) { return state_->send(said); }, message);
}

bool ControllerLink::send(const control::StatusRequest& message) {
    if (!state_->status.ask(message.request, base::now())) return true;
    if (state_->transmit(
            state_->write(control::StatusRequest{message.request, state_->status.seen()})))
        return true;
    state_->status.not_sent();
    return false;
}

bool ControllerLink::send(const control::RecordingAsked& message) {
    control::RecordingAsked asked = message;
    asked.seen = state_->status.seen();
    return state_->send(asked);
}

bool ControllerLink::send(const control::RecordingMade& message) {
    return state_->send(message);
}

bool ControllerLink::send(const control::Goodbye& message) {
    const bool sent = state_->send(message);
    state_->timer.cancel();
    state_->doubt.rest();
    state_->phase = State::Phase::idle;
    state_->self = 0;
    state_->hello_pending = false;
    state_->connection->set_linger_ms(kGoodbyeLingerMs);
    return sent;
}

std::optional<ClockOffset::Reading> ControllerLink::clock() const {
    return state_->clock.best();
}

Doubt& ControllerLink::doubt() {
    return state_->doubt;
}

bool ControllerLink::send_heartbeat() {
    return state_->say_heartbeat();
}

}  // namespace pace::daemon
