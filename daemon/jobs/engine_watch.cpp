// Engine: other nodes, failures, and ends: lost connections, exchanges that do not move, jobs that
// nobody uses, and the end of everything.
#include <algorithm>
#include <set>

#include "base/daemon_events.h"
#include "base/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/jobs/engine.h"

namespace pace::daemon {

using base::ErrorKind;

namespace {

// A node that is waited for so long is asked whether it can be reached at all.
constexpr base::Duration kStallSuspicious = std::chrono::milliseconds(100);
// A node that is waited for so long is named in the log.
constexpr base::Duration kWaitNoticeable = std::chrono::seconds(10);

// The greatest age of what a trainer is told of its wait.
constexpr base::Duration kWaitsInterval = std::chrono::seconds(1);

}  // namespace

void Engine::peer_lost(transports::PeerId peer, const base::Error& error) {
    const NodeId node = services_.peers.lost(peer);
    for (const auto& weak : std::vector(services_.active)) {
        if (const auto exchange = weak.lock()) exchange->peer_lost(peer, error);
    }
    if (node != 0) services_.recorder->note({.kind = RecordKind::peer_lost, .node = node});
    if (node == 0 || peer_watch_.lost(node)) return;
    base::log_event(base::events::kPeerLost,
                    {{"peer", services_.peers.name(node)}, {"reason", error.message}});
    control::PeerLost lost;
    lost.suspect = node;
    lost.reason = error.message;
    services_.control->send(lost);
}

void Engine::on(const control::NodeKnown& known) {
    if (known.node == services_.self) return;
    services_.recorder->name_node(known.node, known.name);
    const auto usable = services_.peers.know(known.node, known.name, known.address, known.key);
    if (!usable)
        base::log_event(base::events::kPeerKeyUnusable,
                        {{"peer", known.name}, {"reason", usable.error().message}});
    peer_watch_.known(known.node);
}

void Engine::on(const control::NodeGone& gone) {
    base::log_event(base::events::kPeerGone,
                    {{"peer", services_.peers.name(gone.node)}, {"reason", gone.reason}});
    services_.recorder->note({.kind = RecordKind::peer_gone, .node = gone.node});
    // A daemon that stops in order says goodbye.
    if (!gone.reason.starts_with("it said goodbye")) services_.recordings->keep("peer-gone");
    const auto peer = services_.peers.peer(gone.node);
    const auto error = base::make_error(ErrorKind::unavailable, "{} is gone: {}",
                                        services_.peers.name(gone.node), gone.reason);
    services_.peers.forget(gone.node);
    peer_watch_.forget(gone.node);
    links_.forget(gone.node);
    gpu_groups_.forget(gone.node);
    if (!peer) return;
    for (const auto& weak : std::vector(services_.active)) {
        if (const auto exchange = weak.lock()) exchange->peer_lost(*peer, error);
    }
}

// These nodes went while this node was not attached, and nobody says so again.
void Engine::forget_unnamed_peers() {
    for (const NodeId node : services_.peers.unnamed())
        on(control::NodeGone{node, "the controller does not know it any more"});
}

void Engine::on_not_attached(const base::Error& because, base::Duration since) {
    questions_.set_refusal(because);
    base::log_event(
        base::events::kControllerUnreachable,
        {{"for", fmt::format("{:.0f} s", base::to_seconds(since))}, {"because", because.message}});
}

void Engine::watch() {
    const base::TimePoint now = base::now();
    std::set<NodeId> stuck;
    for (const auto& weak : std::vector(services_.active)) {
        const auto exchange = weak.lock();
        if (!exchange) continue;
        const base::Duration stalled_for = exchange->stalled_for(now);
        if (stalled_for < kStallSuspicious) continue;
        const std::vector<NodeId> culprits = exchange->waiting_for();
        for (const NodeId culprit : culprits) peer_watch_.suspect(culprit);
        record_wait(*exchange, stalled_for, culprits);
        log_wait(*exchange, stalled_for, culprits);
        if (stalled_for < services_.options.progress_deadline * exchange->deadlines()) continue;
        control::Stalled stalled;
        stalled.job = exchange->job();
        stalled.waiting_for = culprits;
        services_.control->send(stalled);
        if (exchange->patient()) continue;
        exchange->abort(base::make_error(
            ErrorKind::timeout, "nothing has moved for {} ms; waited for {}",
            stalled_for / std::chrono::milliseconds(1), services_.peers.names(culprits)));
        // The abort ends everything except what a peer has asked for and does not take. When the
        // connection ends, others' exchanges end, too.
        if (exchange->given_up == base::TimePoint{}) exchange->given_up = now;
        if (now - exchange->given_up < services_.options.progress_deadline) continue;
        exchange->given_up = now;
        stuck.insert(culprits.begin(), culprits.end());
    }
    for (const NodeId node : stuck) connect_anew(node);
    if (services_.has_active()) services_.exchange_began();
}

std::vector<Engine::JobWait> Engine::waits() const {
    std::vector<JobWait> all;
    for (const auto& [name, job] : jobs_)
        for (Wait& wait : job->waits(base::now_ns(), services_.options.wait_notice))
            all.push_back({name, std::move(wait)});
    return all;
}

void Engine::tell_waits() {
    const auto jobs = jobs_;
    for (const auto& [name, job] : jobs) job->tell_waits(base::now_ns());
    if (!jobs_.empty()) tell_waits_later();
}

// Goes on without a controller, too: the calls then wait for the controller.
void Engine::tell_waits_later() {
    if (waits_timer_.pending()) return;
    waits_timer_ = services_.loop.run_after(
        std::min<base::Duration>(kWaitsInterval, services_.options.wait_notice / 2),
        [this] { tell_waits(); });
}

void Engine::run_out_of_memory() {
    const auto jobs = jobs_;
    for (const auto& [name, job] : jobs) job->run_out_of_memory();
}

// The other end is not told, and what it has sent is lost: all rounds between the two begin anew,
// which the controller sees to.
void Engine::connect_anew(NodeId node) {
    base::log_event(base::events::kPeerStuck, {{"peer", services_.peers.name(node)}});
    services_.peers.reconnect(node);
    services_.control->send(control::PeerLost{node, "it does not take what it has asked for"});
}

// It is no fault that others are late. A worker that waits for long without knowing wants to know
// for whom.
void Engine::log_wait(Active& exchange, base::Duration stalled_for,
                      const std::vector<NodeId>& nodes) const {
    const base::TimePoint now = base::now();
    const base::TimePoint since = now - stalled_for;
    if (stalled_for < kWaitNoticeable || nodes.empty()) return;
    // Logs at growing intervals: again after twice the wait.
    if (exchange.logged > since && now - exchange.logged < (exchange.logged - since)) return;
    exchange.logged = now;
    base::log_event(
        base::events::kExchangeWaits,
        {{"job", services_.job_name(exchange.job())},
         {"exchange", exchange.what()},
         {"for", services_.peers.names(nodes)},
         {"silent_ms", stalled_for / std::chrono::milliseconds(1)},
         {"why", exchange.patient() ? "their workers have not called" : "nothing moves"}});
}

void Engine::shut_down() {
    const auto error = base::make_error(ErrorKind::aborted, "the daemon is stopping");
    for (const auto& [name, job] : jobs_) job->invalidate(error);
    links_.forget_all();
    peer_watch_.forget_all();
    services_.peers.forget_all();
    const base::TimePoint deadline = base::now() + std::chrono::seconds(1);
    while (services_.has_active() && base::now() < deadline) services_.loop.turn(false);
}

}  // namespace pace::daemon
