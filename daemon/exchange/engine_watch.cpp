// Engine: what goes wrong. Connections that are lost, exchanges that do not move, and the end of all.
#include "base/log.h"
#include "daemon/control/controller_link.h"
#include "daemon/exchange/engine.h"

namespace pace::daemon {

using base::ErrorKind;

void Engine::peer_lost(transports::PeerId peer, const base::Error& error) {
    const NodeId node = services_.peers.lost(peer);
    for (const auto& weak : std::vector(services_.active)) {
        if (const auto exchange = weak.lock()) exchange->peer_lost(peer, error);
    }
    if (node == 0) return;
    base::log_warning("lost the connection to a peer",
                      {{"peer", services_.peers.name(node)}, {"reason", error.message}});
    control::PeerLost lost;
    lost.suspect = node;
    lost.reason = error.message;
    services_.control->send(lost);
}

void Engine::watch() {
    watching_ = false;
    const base::TimePoint now = base::now();
    for (const auto& weak : std::vector(services_.active)) {
        const auto exchange = weak.lock();
        if (!exchange || exchange->stalled_for(now) < services_.options.progress_deadline) continue;
        const std::vector<NodeId> culprits = exchange->waiting_for();
        control::Stalled stalled;
        stalled.job = exchange->job();
        stalled.waiting_for = culprits;
        services_.control->send(stalled);
        if (exchange->patient()) continue;
        exchange->abort(
            base::make_error(ErrorKind::timeout, "no progress for {} ms",
                             services_.options.progress_deadline / std::chrono::milliseconds(1)));
        // Sends to a frozen peer end only with its connection.
        for (const NodeId culprit : culprits) {
            base::log_warning("connecting anew to a peer that does not move",
                              {{"peer", services_.peers.name(culprit)}});
            services_.peers.reconnect(culprit);
        }
    }
    if (!services_.active.empty()) services_.exchange_began();
}

void Engine::shut_down() {
    const auto error = base::make_error(ErrorKind::aborted, "the daemon is stopping");
    for (const auto& [name, job] : jobs_) job->invalidate(error);
    links_.forget_all();
    services_.peers.forget_all();
    const base::TimePoint deadline = base::now() + std::chrono::seconds(1);
    while (!services_.active.empty() && base::now() < deadline) services_.loop.turn(false);
}

}  // namespace pace::daemon
