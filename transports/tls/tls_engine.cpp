#include "transports/tls/tls_engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/attempt.h"
#include "transports/receive.h"

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;
using Outcome = TlsConnection::Outcome;

namespace {

// One turn moves this many bytes of one link in each direction, and serves this many links. All
// together take some twenty milliseconds at most.
constexpr size_t kBytesOfTurnMax = size_t{256} * 1024;
constexpr size_t kLinksOfTurnMax = 32;
constexpr size_t kEventsOfTurnMax = 64;

}  // namespace

TlsEngine::TlsEngine(std::unique_ptr<Readiness> readiness, std::unique_ptr<KeyRing> keys,
                     std::unique_ptr<TlsContext> context, const TlsOptions& options,
                     const InstanceId& instance, std::vector<IpEndpoint> endpoints)
    : readiness_(std::move(readiness)),
      keys_(std::move(keys)),
      context_(std::move(context)),
      links_(options, instance, std::move(endpoints)),
      outbox_(links_, completions_, counters_, options),
      inbox_(links_, outbox_, completions_, counters_, options),
      reader_(links_, inbox_, options.segment_bytes),
      dialer_(*readiness_, *context_, *keys_, links_, options),
      door_(std::make_unique<TlsDoor>(*readiness_, *context_, instance, reports_, options)) {}

TlsEngine::~TlsEngine() {
    end();
    while (completions_.run()) {
    }
}

void TlsEngine::end() {
    if (std::exchange(ended_, true)) return;
    for (const PeerId peer : links_.present()) end_peer(peer, has_ended(), false);
    for (TlsLink* link : links_.all()) close(*link);
    door_.reset();
    readiness_->wake_at(std::nullopt);
    while (completions_.run()) {
    }
}

base::Result<PeerId> TlsEngine::connect(std::span<const std::byte> address) {
    if (ended_) return make_error(ErrorKind::closed, "the transport has ended");
    return links_.connect(address);
}

void TlsEngine::disconnect(PeerId peer) {
    if (links_.gone(peer)) return;
    TlsLink& link = links_.link(peer);
    end_peer(peer, make_error(ErrorKind::unavailable, "peer {} was disconnected", peer), true);
    // What is unread is dropped.
    links_.touch(link);
    forget_if_unused(link);
}

void TlsEngine::give_up(PeerId peer, const base::Error& error) {
    if (ended_ || links_.gone(peer)) return;
    links_.fail(links_.link(peer), error);
    lose_failed();
}

void TlsEngine::send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
                     Completion completion) {
    if (usable(peer, completion)) outbox_.send(peer, tag, bytes, std::move(completion));
}

void TlsEngine::receive(PeerId peer, Tag tag, std::span<std::byte> bytes, Completion completion) {
    if (!usable(peer, completion)) return;
    // A receive alone must notice that its peer has gone. It therefore opens the connection like a
    // send.
    TlsLink& link = links_.link(peer);
    if (link.out.state == WayOut::State::closed && !link.error) dialer_.go_on(link);
    inbox_.receive(Receive{peer, tag, bytes, std::move(completion)});
}

void TlsEngine::close_exchange(uint64_t exchange) {
    if (ended_) return;
    inbox_.close_exchange(exchange);
    outbox_.close_exchange(exchange);
}

void TlsEngine::ping(PeerId peer) {
    if (!ended_ && !links_.gone(peer)) outbox_.ping(peer);
}

base::TimePoint TlsEngine::heard(PeerId peer) const {
    if (links_.gone(peer)) return {};
    const TlsLink& link = links_.link(peer);
    return link.out.state == WayOut::State::open ? link.heard : base::TimePoint{};
}

void TlsEngine::set_peer_lost_handler(PeerLostHandler handler) {
    lost_handler_ = std::move(handler);
}

void TlsEngine::set_stranger_handler(StrangerHandler handler) {
    stranger_handler_ = std::move(handler);
}

Transport::Counters TlsEngine::counters() const {
    Counters now = counters_;
    now.messages_unexpected = inbox_.kept();
    return now;
}

base::Result<> TlsEngine::add_key(std::span<const std::byte> address, const PairKey& key) {
    if (ended_) return make_error(ErrorKind::closed, "the transport has ended");
    PACE_TRY_ASSIGN(parsed, links_.peer_address(address));
    PACE_TRY(keys_->add(parsed.instance, key));
    TlsLink* link = links_.find(parsed.instance);
    if (link != nullptr && !link->error) dialer_.on_key(*link);
    return {};
}

base::Result<> TlsEngine::forget_keys(std::span<const std::byte> address) {
    PACE_TRY_ASSIGN(parsed, links_.peer_address(address));
    keys_->forget(parsed.instance);
    links_.forget_numbers(parsed.instance);
    TlsLink* link = links_.find(parsed.instance);
    if (link != nullptr)
        links_.fail(*link, make_error(ErrorKind::unavailable, "its keys are forgotten"));
    return {};
}

bool TlsEngine::poll() {
    if (ended_) return completions_.run();
    bool worked = take_events();
    const base::TimePoint now = base::now();
    door_->expire(now);
    dialer_.expire(now);
    std::vector<TlsDoor::Admitted> admitted;
    worked = door_->work(admitted) || worked;
    admit(std::move(admitted));
    worked = serve_links() || worked;
    worked = lose_failed() || worked;
    tell_strangers();
    return completions_.run() || worked;
}

bool TlsEngine::arm() {
    if (!completions_.empty()) return false;
    if (ended_) return true;
    if (links_.has_touched() || links_.has_failed() || door_->has_work() || !reports_.empty())
        return false;
    std::optional<base::TimePoint> deadline = door_->deadline();
    if (const auto dialing = dialer_.deadline())
        deadline = std::min(deadline.value_or(*dialing), *dialing);
    readiness_->wake_at(deadline);
    return true;
}

bool TlsEngine::usable(PeerId peer, Completion& completion) {
    if (!links_.exists(peer)) {
        completions_.push(std::move(completion), unknown_peer(peer));
        return false;
    }
    if (ended_) {
        completions_.push(std::move(completion), has_ended());
        return false;
    }
    if (links_.gone(peer)) {
        completions_.push(std::move(completion),
                          make_error(ErrorKind::unavailable, "peer {} is gone", peer));
        return false;
    }
    return true;
}

bool TlsEngine::take_events() {
    std::array<Readiness::Event, kEventsOfTurnMax> events;
    const size_t count = readiness_->take(events);
    for (const Readiness::Event& event : std::span(events).first(count)) {
        if (door_->on_event(event)) continue;
        TlsLink* link = links_.at(event.token);
        if (link == nullptr) continue;
        const bool is_out = link->out.token == event.token;
        TlsConnection& connection = is_out ? *link->out.connection : *link->in.connection;
        connection.became_ready(event.readable, event.writable);
        links_.touch(*link);
    }
    return count > 0;
}

void TlsEngine::admit(std::vector<TlsDoor::Admitted> admitted) {
    for (TlsDoor::Admitted& each : admitted) admit(std::move(each));
}

void TlsEngine::admit(TlsDoor::Admitted admitted) {
    if (keys_->count(admitted.hello.from) == 0)
        return door_->refuse(admitted, "its key was forgotten while it proved that it has it");
    if (!links_.is_newest(admitted.hello))
        return door_->refuse(admitted, "it is older than another connection of its instance");
    TlsLink* known = links_.find(admitted.hello.from);
    // The other side has given up the connections that it had before.
    if (known != nullptr && known->in.connection != nullptr)
        links_.fail(*known, make_error(ErrorKind::unavailable, "it has connected anew"));
    // The new connection must not end with a link that has failed.
    lose_failed();
    TlsLink& link = links_.find_or_make(admitted.hello.from);
    link.in.connection = std::move(admitted.connection);
    link.in.token = admitted.token;
    links_.bind(admitted.token, link);
    links_.touch(link);
}

bool TlsEngine::serve_links() {
    bool worked = false;
    const size_t turns = std::min(links_.touched(), kLinksOfTurnMax);
    for (size_t turn = 0; turn < turns; ++turn) {
        TlsLink* link = links_.next_touched();
        if (link == nullptr) break;
        if (link->error) continue;
        if (!base::attempt([&] { worked = serve(*link) || worked; }))
            links_.fail(*link, base::out_of_memory());
        if (!link->error && may_go_on(*link)) links_.touch(*link);
    }
    return worked;
}

bool TlsEngine::serve(TlsLink& link) {
    bool worked = false;
    if (link.in.connection != nullptr && link.was_peer)
        worked = reader_.read(link, kBytesOfTurnMax);
    if (link.out.state != WayOut::State::closed || TlsOutbox::has_work(link)) dialer_.go_on(link);
    if (link.out.state != WayOut::State::open || link.error) return worked;
    watch_way_out(link);
    return outbox_.write(link, kBytesOfTurnMax) || worked;
}

// The other side says nothing on this connection. It closes the connection or it does not.
void TlsEngine::watch_way_out(TlsLink& link) {
    TlsConnection& connection = *link.out.connection;
    if (!connection.may_read()) return;
    std::array<std::byte, 1> byte{};
    const auto step = connection.read(byte);
    if (step.outcome == Outcome::failed)
        links_.fail(link, make_error(ErrorKind::unavailable, "{}", connection.error()));
    if (step.outcome == Outcome::moved)
        links_.fail(link, make_error(ErrorKind::unavailable,
                                     "it was given up: it speaks on a connection of this node"));
}

// Whether the link has work that no event will tell.
bool TlsEngine::may_go_on(const TlsLink& link) {
    const WayIn& in = link.in;
    if (in.connection != nullptr && link.was_peer && in.connection->may_read()) return true;
    const WayOut& out = link.out;
    if (out.state != WayOut::State::open) return false;
    if (out.connection->may_read()) return true;
    return out.connection->may_write() &&
           (out.connection->has_unsent() || TlsOutbox::has_work(link));
}

bool TlsEngine::lose_failed() {
    bool worked = false;
    for (const InstanceId& instance : links_.take_failed()) {
        TlsLink* link = links_.find(instance);
        // The link was closed meanwhile, and maybe made anew.
        if (link == nullptr || !link->error) continue;
        if (const std::optional<PeerId> peer = link->peer) {
            base::Error error =
                make_error(link->error->kind, "peer {}: {}", *peer, link->error->message);
            end_peer(*peer, error, false);
            // Queued behind the operations that have just ended.
            completions_.push(
                [this, lost = *peer](base::Result<> result) {
                    if (lost_handler_) lost_handler_(lost, result.error());
                },
                std::move(error));
        }
        close(*link);
        worked = true;
    }
    return worked;
}

void TlsEngine::end_peer(PeerId peer, const base::Error& error, bool goes_on) {
    // The inbox comes first. It refuses the peer's offers, which needs the peer to be still there.
    inbox_.end_peer(peer, error);
    outbox_.end_peer(peer, error, goes_on);
    links_.leave(peer);
}

void TlsEngine::close(TlsLink& link) {
    dialer_.forget(link);
    if (link.in.connection != nullptr) {
        links_.unbind(link.in.token);
        readiness_->unwatch(link.in.connection->fd());
    }
    links_.erase(link);
}

void TlsEngine::forget_if_unused(TlsLink& link) {
    const bool is_used =
        link.in.connection != nullptr || link.out.state != WayOut::State::closed || link.error;
    if (!is_used) close(link);
}

void TlsEngine::tell_strangers() {
    if (reports_.empty()) return;
    for (const Stranger& stranger : reports_.take())
        if (stranger_handler_) stranger_handler_(stranger);
}

}  // namespace pace::transports::tls
