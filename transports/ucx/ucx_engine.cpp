#include "transports/ucx/ucx_engine.h"

#include <utility>

#include "base/random.h"
#include "transports/ucx/ucx_process.h"

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

namespace {

// Closing endpoints by force is quick but not always immediate. The number is a guess that was
// never reached so far.
constexpr int kCloseTurns = 1000;
// A guess: the time is well below the time for which a connection may be stuck, and the looks cost
// little.
constexpr base::Duration kLookAtSocketsEvery = std::chrono::milliseconds(500);

}  // namespace

base::Result<std::unique_ptr<UcxTransport>> UcxTransport::create(const UcxOptions& options) {
    undo_ucx_load_effects();
    PACE_TRY_ASSIGN(worker, UcxWorker::create(options));
    auto engine = std::make_unique<UcxEngine>(std::move(worker), options, base::random_token());
    PACE_TRY(engine->listen());
    return std::unique_ptr<UcxTransport>(std::move(engine));
}

UcxEngine::UcxEngine(std::unique_ptr<UcxWorker> worker, const UcxOptions& options,
                     uint64_t instance)
    : worker_(std::move(worker)),
      peers_(*worker_, options, instance),
      outbox_(peers_, completions_, counters_, options, instance),
      inbox_(peers_, outbox_, completions_, counters_, options) {
    if (options.tls == "tcp") sockets_.emplace(worker_->event_fd(), options.unmoved_max);
}

UcxEngine::~UcxEngine() {
    end();
    while (completions_.run()) {
    }
}

void UcxEngine::end() {
    if (std::exchange(ended_, true)) return;
    const base::Error error = has_ended();
    for (const PeerId peer : peers_.present()) end_peer(peer, error);
    peers_.close_all();
    // Closing is quick but not always immediate. The memory that UCX has not given back by then is
    // freed with the worker.
    for (int turn = 0; turn < kCloseTurns && !outbox_.idle(); ++turn)
        ucp_worker_progress(worker_->handle());
    worker_->destroy();
    outbox_.abandon(error);
    while (completions_.run()) {
    }
}

base::Result<> UcxEngine::listen() {
    ucp_am_handler_param_t params{};
    params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                        UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    params.id = wire::kActiveMessage;
    params.flags = UCP_AM_FLAG_WHOLE_MSG;
    params.cb = on_active_message;
    params.arg = this;
    const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_->handle(), &params);
    if (status != UCS_OK)
        return make_ucx_error(ErrorKind::internal, "install the handler of active messages",
                              status);
    return sockets_ ? sockets_->bound() : base::Result<>();
}

base::Result<PeerId> UcxEngine::connect(std::span<const std::byte> address) {
    if (ended_) return make_error(ErrorKind::closed, "the transport has ended");
    PACE_TRY_ASSIGN(connected, peers_.connect(address));
    if (connected.is_new) inbox_.on_connected(connected.peer);
    return connected.peer;
}

void UcxEngine::disconnect(PeerId peer) {
    if (peers_.gone(peer)) return;
    UcxPeers::Link& link = peers_.link(peer);
    end_peer(peer, make_error(ErrorKind::unavailable, "peer {} was disconnected", peer));
    if (outbox_.lends_memory()) peers_.close(link);
}

void UcxEngine::give_up(PeerId peer, const base::Error& error) {
    if (ended_ || peers_.gone(peer)) return;
    peers_.fail(peer, error);
    lose_failed_peers();
    // The endpoint is closed. UCX gives back the user's memory that it holds, without waiting for
    // any peer.
    for (int turn = 0; turn < kCloseTurns && outbox_.sends_to(peer); ++turn)
        ucp_worker_progress(worker_->handle());
}

void UcxEngine::send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
                     Completion completion) {
    if (usable(peer, completion)) outbox_.send(peer, tag, bytes, std::move(completion));
}

void UcxEngine::receive(PeerId peer, Tag tag, std::span<std::byte> bytes, Completion completion) {
    if (!usable(peer, completion)) return;
    // A receive alone must notice that its peer has gone. It therefore opens the connection like a
    // send.
    if (peers_.link(peer).endpoint == nullptr) outbox_.hello(peer);
    inbox_.receive(Receive{peer, tag, bytes, std::move(completion)});
}

void UcxEngine::close_exchange(uint64_t exchange) {
    if (ended_) return;
    inbox_.close_exchange(exchange);
    outbox_.close_exchange(exchange);
}

void UcxEngine::ping(PeerId peer) {
    if (!ended_ && !peers_.gone(peer)) outbox_.ping(peer);
}

base::TimePoint UcxEngine::heard(PeerId peer) const {
    if (peers_.gone(peer)) return {};
    const UcxPeers::Link& link = peers_.link(peer);
    return link.answered ? link.heard : base::TimePoint{};
}

void UcxEngine::set_peer_lost_handler(PeerLostHandler handler) {
    lost_handler_ = std::move(handler);
}

bool UcxEngine::poll() {
    if (ended_) return completions_.run();
    // The turns are bounded, so that a peer that sends without end does not keep the loop from its
    // other work.
    constexpr int kTurnsMax = 32;
    int turns = 0;
    while (turns < kTurnsMax && ucp_worker_progress(worker_->handle()) != 0) {
        outbox_.send_held();
        ++turns;
    }
    bool worked = turns > 0;
    worked = outbox_.resume() || worked;
    worked = lose_failed_peers() || worked;
    worked = bound_connections(worked) || worked;
    return completions_.run() || worked;
}

// Bounds connections that this side opens at once. Other sides open connections, too, and UCX opens
// some anew. Those connections are bounded when something has happened, but not each time.
bool UcxEngine::bound_connections(bool worked) {
    if (!sockets_) return false;
    sockets_changed_ = sockets_changed_ || worked;
    const bool opened = peers_.take_opened();
    if (!opened && !(sockets_changed_ && base::now() >= sockets_due_)) return false;
    sockets_changed_ = false;
    sockets_due_ = base::now() + kLookAtSocketsEvery;
    // Bounding worked when the transport was made. A connection that the kernel refuses to bound
    // works as well as it can.
    [[maybe_unused]] const auto bounded = sockets_->bound();
    return true;
}

bool UcxEngine::arm() {
    if (ended_) return completions_.empty();
    if (!completions_.empty() || outbox_.has_work() || peers_.has_failed() || peers_.has_opened())
        return false;
    return ucp_worker_arm(worker_->handle()) == UCS_OK;
}

ucs_status_t UcxEngine::on_active_message(void* engine, const void* header, size_t header_length,
                                          void* data, size_t length,
                                          const ucp_am_recv_param_t* param) {
    // Peers send nothing by UCX's own rendezvous. UCX tells a sender that does so that its message
    // is not wanted.
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;
    auto* self = static_cast<UcxEngine*>(engine);
    const UcxOutbox::Arrival arrival(self->outbox_);
    self->inbox_.on_message({static_cast<const std::byte*>(header), header_length},
                            {static_cast<const std::byte*>(data), length});
    return UCS_OK;
}

bool UcxEngine::usable(PeerId peer, Completion& completion) {
    if (!peers_.exists(peer)) {
        completions_.push(std::move(completion), unknown_peer(peer));
        return false;
    }
    if (ended_) {
        completions_.push(std::move(completion), has_ended());
        return false;
    }
    if (peers_.gone(peer)) {
        completions_.push(std::move(completion),
                          make_error(ErrorKind::unavailable, "peer {} is gone", peer));
        return false;
    }
    return true;
}

bool UcxEngine::lose_failed_peers() {
    bool worked = false;
    for (const uint64_t instance : peers_.take_failed()) {
        UcxPeers::Link* link = peers_.find(instance);
        // The link was closed meanwhile, and maybe made anew.
        if (link == nullptr || !link->error) continue;
        if (const std::optional<PeerId> peer = link->peer) {
            const base::Error error =
                make_error(link->error->kind, "peer {}: {}", *peer, link->error->message);
            end_peer(*peer, error);
            untold_.push_back({*peer, error});
        }
        peers_.close(*link);
        worked = true;
    }
    if (!untold_.empty()) tell_lost_peers();
    return worked;
}

// The handler must run after all operations with the peer. It therefore waits for the operations
// that UCX still holds, and is queued behind the operations that have just ended.
void UcxEngine::tell_lost_peers() {
    std::erase_if(untold_, [this](Lost& lost) {
        if (outbox_.sends_to(lost.peer)) return false;
        completions_.push(
            [this, peer = lost.peer](base::Result<> result) {
                if (lost_handler_) lost_handler_(peer, result.error());
            },
            std::move(lost.error));
        return true;
    });
}

void UcxEngine::end_peer(PeerId peer, const base::Error& error) {
    // The inbox comes first. It refuses the peer's offers, which needs the peer to be still there.
    inbox_.end_peer(peer, error);
    outbox_.end_peer(peer, error);
    peers_.leave(peer);
}

}  // namespace pace::transports
