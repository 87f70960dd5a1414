// Engine: other nodes, failures, and the end of everything.
#include <algorithm>

#include "base/log/daemon_events.h"
#include "base/log/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/jobs/engine.h"

namespace pace::daemon {

using base::ErrorKind;

namespace {

// The greatest age of what a trainer is told of its wait.
constexpr base::Duration kWaitsInterval = std::chrono::seconds(1);

}  // namespace

void Engine::peer_lost(transports::PeerId peer, const base::Error& error) {
    const NodeId node = services_.peers.lost(peer);
    services_.active.each([&](const auto& exchange) { exchange->peer_lost(peer, error); });
    if (node == 0) return;
    services_.recorder->note({.kind = RecordKind::peer_lost, .node = node});
    peer_watch_.lost(node, error.message);
}

void Engine::tell_lost(NodeId node, const std::string& reason) {
    base::log_event(base::events::kPeerLost,
                    {{"peer", services_.peers.name(node)}, {"reason", reason}});
    services_.control.send(control::PeerLost{node, reason});
}

void Engine::tell_cut(NodeId node, bool cut, base::Duration silent) {
    services_.control.send(
        control::LinkCut{node, cut, static_cast<uint64_t>(silent / std::chrono::milliseconds(1))});
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
    services_.gpu_groups.forget(gone.node);
    if (!peer) return;
    services_.active.each([&](const auto& exchange) { exchange->peer_lost(*peer, error); });
}

// These nodes went while this node was not attached, and nobody says so again.
void Engine::forget_unnamed_peers() {
    for (const NodeId node : services_.peers.unnamed())
        on(control::NodeGone{node, "the controller does not know it any more"});
}

void Engine::on_not_attached(const base::Error& because, base::Duration since) {
    base::log_event(
        base::events::kControllerUnreachable,
        {{"for", fmt::format("{:.0f} s", base::to_seconds(since))}, {"because", because.message}});
}

std::vector<Engine::JobWait> Engine::waits() const {
    std::vector<JobWait> all;
    for (const auto& [name, job] : jobs_.all())
        for (Wait& wait : job->waits(base::now_ns(), services_.options.wait_notice))
            all.push_back({name, std::move(wait)});
    return all;
}

void Engine::tell_waits() {
    const JobTable::ByName jobs = jobs_.all();
    for (const auto& [name, job] : jobs) job->tell_waits(base::now_ns());
    if (!jobs_.all().empty()) tell_waits_later();
}

// Goes on without a controller, too: the calls then wait for the controller.
void Engine::tell_waits_later() {
    if (waits_timer_.pending()) return;
    waits_timer_ = services_.loop.run_after(
        std::min<base::Duration>(kWaitsInterval, services_.options.wait_notice / 2),
        [this] { tell_waits(); });
}

void Engine::run_out_of_memory() {
    const JobTable::ByName jobs = jobs_.all();
    for (const auto& [name, job] : jobs) job->run_out_of_memory();
}

void Engine::shut_down() {
    const auto error = base::make_error(ErrorKind::aborted, "the daemon is stopping");
    for (const auto& [name, job] : jobs_.all()) job->invalidate(error);
    links_.forget_all();
    peer_watch_.forget_all();
    services_.peers.forget_all();
    const base::TimePoint deadline = base::now() + std::chrono::seconds(1);
    while (services_.active.any() && base::now() < deadline) services_.loop.turn(false);
}

}  // namespace pace::daemon
