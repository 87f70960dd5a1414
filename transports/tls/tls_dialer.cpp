#include "transports/tls/tls_dialer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;
using Outcome = TlsConnection::Outcome;
using State = WayOut::State;

namespace {

// The time between two handshakes doubles from the first to the last of these. Guesses: a peer gets
// its key some milliseconds after this node or a second.
constexpr base::Duration kRetryFirst = std::chrono::milliseconds(5);
constexpr base::Duration kRetryLast = std::chrono::milliseconds(160);

base::Duration retry_after(unsigned attempts) {
    const unsigned doublings = std::min(attempts, 5U);
    return std::min(kRetryFirst * (1U << doublings), kRetryLast);
}

}  // namespace

TlsDialer::TlsDialer(Readiness& readiness, TlsContext& context, const KeyRing& keys,
                     TlsLinks& links, const TlsOptions& options)
    : readiness_(readiness),
      context_(context),
      keys_(keys),
      links_(links),
      unmoved_max_(options.unmoved_max),
      key_wait_max_(options.key_wait_max),
      bounds_{options.keepalive_interval, options.unmoved_max} {}

void TlsDialer::go_on(TlsLink& link) {
    switch (link.out.state) {
        case State::closed:
            link.out.began = base::now();
            opening_.push_back(&link);
            return try_key(link);
        case State::connecting:
            if (link.out.connection->may_write()) on_connected(link);
            return;
        case State::handshaking:
            if (link.out.connection->may_read() && link.out.connection->may_write())
                handshake(link);
            return;
        case State::waits:
        case State::open:
            return;
    }
}

void TlsDialer::on_key(TlsLink& link) {
    if (link.out.state == State::waits) try_key(link);
}

void TlsDialer::try_key(TlsLink& link) {
    const size_t count = keys_.count(link.instance);
    if (count == 0) return wait(link, link.out.began + key_wait_max_);
    link.out.endpoint = 0;
    try_endpoint(link, *keys_.key(link.instance, link.out.attempts % count));
}

void TlsDialer::try_endpoint(TlsLink& link, const PairKey& key) {
    WayOut& out = link.out;
    auto socket = begin_connect(out.endpoints[out.endpoint]);
    if (!socket) return next_endpoint(link, socket.error().message);
    prepare(socket->get(), bounds_);
    auto connection = context_.connection(std::move(*socket));
    if (!connection) return fail(link, connection.error().message);
    (*connection)->begin_as_client(key);
    auto token = readiness_.watch_connection((*connection)->fd());
    if (!token) return fail(link, token.error().message);
    out.connection = std::move(*connection);
    // The socket tells when it is connected.
    out.connection->became_unready();
    out.token = *token;
    out.state = State::connecting;
    out.deadline = base::now() + unmoved_max_;
    links_.bind(*token, link);
}

void TlsDialer::on_connected(TlsLink& link) {
    const int error_number = outcome_of_connect(link.out.connection->fd());
    if (error_number != 0) return next_endpoint(link, std::strerror(error_number));
    link.out.state = State::handshaking;
    handshake(link);
}

void TlsDialer::next_endpoint(TlsLink& link, const std::string& why) {
    drop_connection(link);
    WayOut& out = link.out;
    const std::string where = text_of(out.endpoints[out.endpoint]);
    if (++out.endpoint == out.endpoints.size())
        return fail(link, fmt::format("it cannot be reached at {}: {}", where, why));
    const size_t count = keys_.count(link.instance);
    if (count == 0) return wait(link, out.began + key_wait_max_);
    try_endpoint(link, *keys_.key(link.instance, out.attempts % count));
}

void TlsDialer::handshake(TlsLink& link) {
    WayOut& out = link.out;
    const Outcome outcome = out.connection->handshake();
    if (outcome == Outcome::failed) return on_refused(link, out.connection->error());
    if (outcome == Outcome::again) {
        if (out.connection->may_read() && out.connection->may_write()) links_.touch(link);
        return;
    }
    out.state = State::open;
    out.key_bytes = 0;
    std::erase(opening_, &link);
    link.output.writer.begin(Hello{links_.instance(), link.instance, next_number_++});
    links_.touch(link);
}

void TlsDialer::on_refused(TlsLink& link, const std::string& why) {
    const base::TimePoint now = base::now();
    if (now - link.out.began >= key_wait_max_)
        return fail(link, fmt::format("it accepts none of its keys: {}", why));
    drop_connection(link);
    wait(link, now + retry_after(link.out.attempts++));
}

void TlsDialer::expire(base::TimePoint now) {
    const std::vector<TlsLink*> opening = opening_;
    for (TlsLink* link : opening)
        if (link->out.deadline <= now && !link->error) on_due(*link, now);
}

void TlsDialer::on_due(TlsLink& link, base::TimePoint now) {
    if (link.out.state == State::connecting) return next_endpoint(link, "nobody answers");
    if (link.out.state == State::handshaking)
        return fail(link, "its host takes the connection, and nobody answers");
    if (keys_.count(link.instance) > 0) return try_key(link);
    fail(link, fmt::format("no key for it has come for {} ms; the controller gives keys to both "
                           "nodes of a pair",
                           (now - link.out.began) / std::chrono::milliseconds(1)));
}

std::optional<base::TimePoint> TlsDialer::deadline() const {
    std::optional<base::TimePoint> first;
    for (const TlsLink* link : opening_)
        if (!link->error) first = std::min(first.value_or(link->out.deadline), link->out.deadline);
    return first;
}

void TlsDialer::wait(TlsLink& link, base::TimePoint until) {
    link.out.state = State::waits;
    link.out.deadline = until;
}

void TlsDialer::drop_connection(TlsLink& link) {
    if (link.out.connection == nullptr) return;
    links_.unbind(link.out.token);
    readiness_.unwatch(link.out.connection->fd());
    link.out.connection.reset();
}

void TlsDialer::forget(TlsLink& link) {
    drop_connection(link);
    link.out.state = State::closed;
    std::erase(opening_, &link);
}

void TlsDialer::fail(TlsLink& link, const std::string& why) {
    links_.fail(link, make_error(ErrorKind::unavailable, "{}", why));
}

}  // namespace pace::transports::tls
