#include "daemon/exchange/peer_watch.h"

#include <algorithm>
#include <vector>

#include "base/log/daemon_events.h"

namespace pace::daemon {

namespace {

// How often suspects are pinged and looked at. A guess: a small part of the deadline, and few
// messages.
constexpr base::Duration kPingEvery = std::chrono::milliseconds(200);

// How often the controller is told of a cut again, in progress deadlines: it may not have
// remembered the cut. A guess.
constexpr int kTellEvery = 5;

uint64_t milliseconds_of(base::Duration duration) {
    return static_cast<uint64_t>(duration / std::chrono::milliseconds(1));
}

}  // namespace

void PeerWatch::suspect(NodeId node) {
    if (node == services_.self || !services_.peers.connection(node)) return;
    const auto [found, is_new] = suspects_.try_emplace(node, Suspect{.since = base::now()});
    if (!is_new) return;
    services_.transport.ping(*services_.peers.connection(node));
    look_later();
}

// The loss of a connection to a process that dies is noticed at once, without a silence before.
void PeerWatch::lost(NodeId node, const std::string& reason) {
    suspect(node);
    const auto found = suspects_.find(node);
    if (found == suspects_.end()) return tell_of_loss(node, reason);
    Suspect& suspect = found->second;
    const base::Duration silent = base::now() - std::max(suspect.since, suspect.last_heard);
    if (!suspect.cut && silent >= services_.options.progress_deadline / 2)
        cut_off(node, suspect, silent);
    if (suspect.cut) return;
    if (was_loss_told(node))
        suspect.untold_loss = reason;
    else
        tell_of_loss(node, reason);
}

bool PeerWatch::was_loss_told(NodeId node) const {
    const auto told = losses_told_.find(node);
    return told != losses_told_.end() &&
           base::now() - told->second < services_.options.progress_deadline;
}

void PeerWatch::tell_of_loss(NodeId node, const std::string& reason) {
    std::erase_if(losses_told_, [this](const auto& told) { return !was_loss_told(told.first); });
    losses_told_[node] = base::now();
    tell_.lost(node, reason);
}

bool PeerWatch::is_cut(NodeId node) const {
    const auto found = suspects_.find(node);
    return found != suspects_.end() && found->second.cut;
}

void PeerWatch::look_later() {
    if (timer_.pending() || suspects_.empty()) return;
    due_ = base::now() + kPingEvery;
    timer_ = services_.loop.run_after(kPingEvery, [this] { look(); });
}

void PeerWatch::look() {
    const base::TimePoint now = base::now();
    // If this process stood still itself, it has not yet read what was sent to it.
    const bool stood_still = now - due_ > services_.options.progress_deadline / 4;
    if (stood_still)
        for (auto& [node, suspect] : suspects_)
            if (!suspect.cut) suspect.since = now;
    // Callbacks of a lost connection may suspect, and forget, other nodes.
    std::vector<NodeId> nodes;
    for (const auto& [node, suspect] : suspects_) nodes.push_back(node);
    for (const NodeId node : nodes) {
        const auto found = suspects_.find(node);
        if (found != suspects_.end() && ping(node, found->second, now)) suspects_.erase(node);
    }
    look_later();
}

// True if the node is no suspect any more.
bool PeerWatch::ping(NodeId node, Suspect& suspect, base::TimePoint now) {
    const auto peer = services_.peers.connection(node);
    if (!peer) {
        if (suspect.cut) tell_.cut(node, false, {});
        return true;
    }
    suspect.last_heard = std::max(suspect.last_heard, services_.transport.heard(*peer));
    if (suspect.last_heard > suspect.since) {
        if (suspect.cut) {
            base::log_event(base::events::kPeerBack,
                            {{"peer", services_.peers.name(node)},
                             {"after_ms", milliseconds_of(now - suspect.since)}});
            services_.recorder->note(
                {.kind = RecordKind::peer_back,
                 .node = node,
                 .amount = static_cast<uint64_t>(milliseconds_of(now - suspect.since))});
            services_.peers.set_cut(node, false);
            tell_.cut(node, false, {});
        }
        if (suspect.untold_loss) tell_of_loss(node, *suspect.untold_loss);
        return true;
    }
    const base::Duration silent = now - suspect.since;
    if (!suspect.cut && silent >= services_.options.progress_deadline)
        cut_off(node, suspect, silent);
    else if (suspect.cut && now - suspect.told >= kTellEvery * services_.options.progress_deadline)
        tell_of_cut(node, suspect);
    // Over the present connection, which may be another one by now.
    if (const auto current = services_.peers.connection(node)) services_.transport.ping(*current);
    return false;
}

void PeerWatch::cut_off(NodeId node, Suspect& suspect, base::Duration silent) {
    base::log_event(base::events::kPeerSilent,
                    {{"peer", services_.peers.name(node)}, {"silent_ms", milliseconds_of(silent)}});
    services_.recorder->note({.kind = RecordKind::peer_silent,
                              .node = node,
                              .amount = static_cast<uint64_t>(milliseconds_of(silent))});
    suspect.cut = true;
    suspect.since = suspect.told = base::now();
    services_.peers.set_cut(node, true);
    suspect.untold_loss.reset();
    tell_.cut(node, true, silent);
    services_.peers.reconnect(node);
}

// A report of the cut may be on its way to a controller that had forgotten the node before the
// report came, and has attached the node anew since. That controller would believe in the cut for
// ever if nobody told it that the connection is whole.
void PeerWatch::forget(NodeId node) {
    const bool was_cut = is_cut(node);
    suspects_.erase(node);
    if (was_cut) tell_.cut(node, false, {});
}

void PeerWatch::forget_all() {
    suspects_.clear();
}

void PeerWatch::attached() {
    for (auto& [node, suspect] : suspects_)
        if (suspect.cut) tell_of_cut(node, suspect);
}

void PeerWatch::known(NodeId node) {
    const auto found = suspects_.find(node);
    if (found != suspects_.end() && found->second.cut) tell_of_cut(node, found->second);
}

void PeerWatch::tell_of_cut(NodeId node, Suspect& suspect) {
    suspect.told = base::now();
    tell_.cut(node, true, services_.options.progress_deadline + (suspect.told - suspect.since));
}

}  // namespace pace::daemon
