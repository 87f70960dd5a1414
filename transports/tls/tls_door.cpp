#include "transports/tls/tls_door.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace pace::transports::tls {

using base::Result;
using Outcome = TlsConnection::Outcome;

namespace {

// How many connections are accepted and how many steps of handshakes are taken in one turn. A step
// takes some tenths of a millisecond.
constexpr int kAcceptsOfTurnMax = 32;
constexpr size_t kStepsOfTurnMax = 16;
// A guess: descriptors come back when peers leave or strangers are dismissed.
constexpr base::Duration kRest = std::chrono::milliseconds(100);

}  // namespace

TlsDoor::TlsDoor(Readiness& readiness, TlsContext& context, const InstanceId& instance,
                 StrangerReports& reports, const TlsOptions& options)
    : readiness_(readiness),
      context_(context),
      instance_(instance),
      reports_(reports),
      strangers_max_(options.strangers_max),
      strangers_of_source_max_(options.strangers_of_source_max),
      handshake_max_(options.handshake_max),
      bounds_{options.keepalive_interval, options.unmoved_max} {}

TlsDoor::~TlsDoor() {
    for (const Listener& listener : listeners_) readiness_.unwatch(listener.fd.get());
    for (const Guest& guest : guests_) readiness_.unwatch(guest.connection->fd());
}

Result<> TlsDoor::open(std::vector<ListeningSocket> listening) {
    for (ListeningSocket& socket : listening) {
        PACE_TRY_ASSIGN(token, readiness_.watch_listener(socket.fd.get()));
        listeners_.push_back({std::move(socket.fd), token});
    }
    return {};
}

bool TlsDoor::on_event(const Readiness::Event& event) {
    if (const auto guest = by_token_.find(event.token); guest != by_token_.end()) {
        guest->second->connection->became_ready(event.readable, event.writable);
        make_ready(*guest->second);
        return true;
    }
    const bool is_listener =
        std::any_of(listeners_.begin(), listeners_.end(),
                    [&](const Listener& listener) { return listener.token == event.token; });
    knocked_ = knocked_ || is_listener;
    return is_listener;
}

bool TlsDoor::work(std::vector<Admitted>& admitted) {
    bool worked = false;
    if (std::exchange(knocked_, false) && !rests_until_)
        for (const Listener& listener : listeners_) worked = accept_some(listener) || worked;
    const size_t steps = std::min(ready_.size(), kStepsOfTurnMax);
    const std::vector<Readiness::Token> turn(ready_.begin(),
                                             ready_.begin() + static_cast<std::ptrdiff_t>(steps));
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(steps));
    for (const Readiness::Token token : turn) {
        const auto guest = by_token_.find(token);
        if (guest == by_token_.end()) continue;
        guest->second->is_ready = false;
        if (auto done = go_on(guest->second)) admitted.push_back(std::move(*done));
        worked = true;
        // The step may have been stopped because it was long.
        const auto still = by_token_.find(token);
        if (still != by_token_.end() && still->second->connection->may_read())
            make_ready(*still->second);
    }
    return worked;
}

void TlsDoor::make_ready(Guest& guest) {
    if (!std::exchange(guest.is_ready, true)) ready_.push_back(guest.token);
}

bool TlsDoor::accept_some(const Listener& listener) {
    for (int i = 0; i < kAcceptsOfTurnMax; ++i) {
        AcceptedSocket accepted;
        const int error_number = accept_from(listener.fd.get(), accepted);
        if (error_number == 0) {
            take_in(std::move(accepted));
            continue;
        }
        const bool has_no_room = error_number == EMFILE || error_number == ENFILE ||
                                 error_number == ENOMEM || error_number == ENOBUFS;
        if (has_no_room) rest();
        // Other errors are those of the connection that was to be accepted.
        if (has_no_room || error_number == EAGAIN) return i > 0;
    }
    return true;
}

void TlsDoor::take_in(AcceptedSocket accepted) {
    make_room(accepted.source);
    prepare(accepted.fd.get(), bounds_);
    auto connection = context_.connection(std::move(accepted.fd));
    if (!connection) return;
    (*connection)->begin_as_server();
    auto token = readiness_.watch_connection((*connection)->fd());
    if (!token) return;
    Guest guest;
    guest.connection = std::move(*connection);
    guest.token = *token;
    guest.source = accepted.source;
    guest.deadline = base::now() + handshake_max_;
    guests_.push_back(std::move(guest));
    by_token_.emplace(*token, std::prev(guests_.end()));
    ++of_source_[source_of(accepted.source)];
}

void TlsDoor::make_room(const IpEndpoint& endpoint) {
    const Source source = source_of(endpoint);
    const auto known = of_source_.find(source);
    const bool source_is_full =
        known != of_source_.end() && known->second >= strangers_of_source_max_;
    if (!source_is_full && guests_.size() < strangers_max_) return;
    const auto may_go = [&](const Guest& guest) {
        return !source_is_full || source_of(guest.source) == source;
    };
    // Whoever has named a key goes last.
    auto oldest = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
        return may_go(guest) && !guest.connection->instance();
    });
    if (oldest == guests_.end()) oldest = std::find_if(guests_.begin(), guests_.end(), may_go);
    if (oldest != guests_.end())
        dismiss(oldest, "others came before it had proven who it is, and there are too many");
}

std::optional<TlsDoor::Admitted> TlsDoor::go_on(Guests::iterator guest) {
    if (guest->is_authentic) return read_hello(guest);
    const Outcome outcome = guest->connection->handshake();
    if (outcome == Outcome::failed) dismiss(guest, guest->connection->error());
    if (outcome != Outcome::moved) return std::nullopt;
    guest->is_authentic = true;
    return read_hello(guest);
}

std::optional<TlsDoor::Admitted> TlsDoor::read_hello(Guests::iterator guest) {
    while (guest->hello_bytes < guest->hello.size()) {
        const auto step =
            guest->connection->read(std::span(guest->hello).subspan(guest->hello_bytes));
        if (step.outcome == Outcome::failed) dismiss(guest, guest->connection->error());
        if (step.outcome != Outcome::moved) return std::nullopt;
        guest->hello_bytes += step.bytes;
    }
    Hello hello;
    if (auto wrong = wrong_with(*guest, hello)) {
        dismiss(guest, std::move(*wrong));
        return std::nullopt;
    }
    Admitted admitted{std::move(guest->connection), guest->token, hello, guest->source};
    forget(guest);
    return admitted;
}

std::optional<std::string> TlsDoor::wrong_with(const Guest& guest, Hello& hello) const {
    const std::span<const std::byte, kFrameBytes + kHelloBytes> said(guest.hello);
    const auto frame = decode_frame(said.first<kFrameBytes>(), kHelloBytes);
    if (!frame) return "its first words: " + frame.error().message;
    if (frame->kind != FrameKind::hello) return "it does not introduce itself";
    hello = decode_hello(said.last<kHelloBytes>());
    if (hello.from != guest.connection->instance())
        return "it says that it is another instance than its key's";
    if (hello.to != instance_) return "it looks for another instance at this address";
    return std::nullopt;
}

void TlsDoor::expire(base::TimePoint now) {
    if (rests_until_ && now >= *rests_until_) {
        rests_until_.reset();
        for (Listener& listener : listeners_) {
            auto token = readiness_.watch_listener(listener.fd.get());
            if (token) listener.token = *token;
        }
    }
    while (!guests_.empty() && guests_.front().deadline <= now)
        dismiss(guests_.begin(), guests_.front().connection->has_heard()
                                     ? "it did not prove in time who it is"
                                     : "it said nothing");
}

std::optional<base::TimePoint> TlsDoor::deadline() const {
    std::optional<base::TimePoint> deadline = rests_until_;
    if (!guests_.empty())
        deadline = std::min(deadline.value_or(guests_.front().deadline), guests_.front().deadline);
    return deadline;
}

void TlsDoor::refuse(const Admitted& admitted, std::string reason) {
    readiness_.unwatch(admitted.connection->fd());
    reports_.add(text_of(admitted.source), std::move(reason), base::now());
}

void TlsDoor::dismiss(Guests::iterator guest, std::string reason) {
    readiness_.unwatch(guest->connection->fd());
    reports_.add(text_of(guest->source), std::move(reason), base::now());
    forget(guest);
}

void TlsDoor::forget(Guests::iterator guest) {
    const auto count = of_source_.find(source_of(guest->source));
    if (--count->second == 0) of_source_.erase(count);
    by_token_.erase(guest->token);
    guests_.erase(guest);
}

// The kernel would tell at every turn that somebody waits.
void TlsDoor::rest() {
    rests_until_ = base::now() + kRest;
    for (const Listener& listener : listeners_) readiness_.unwatch(listener.fd.get());
}

TlsDoor::Source TlsDoor::source_of(const IpEndpoint& endpoint) {
    constexpr size_t kNetworkBytes = 8;
    Source source{};
    source[0] = endpoint.is_v6 ? std::byte{6} : std::byte{4};
    std::copy_n(endpoint.ip.begin(), std::min(endpoint.ip_bytes(), kNetworkBytes),
                source.begin() + 1);
    return source;
}

}  // namespace pace::transports::tls
