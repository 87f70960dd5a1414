#include "daemon/exchange/progress_watch.h"

#include <set>

#include "base/log/daemon_events.h"
#include "base/log/training_events.h"
#include "daemon/control/controller.h"

namespace pace::daemon {

namespace {

// How often exchanges are looked at.
constexpr base::Duration kInterval = std::chrono::milliseconds(50);
// A node that is waited for so long is asked whether it can be reached at all.
constexpr base::Duration kSuspicious = std::chrono::milliseconds(100);
// A node that is waited for so long is named in the log.
constexpr base::Duration kNoticeable = std::chrono::seconds(10);

}  // namespace

ProgressWatch::ProgressWatch(Services& services, PeerWatch& peer_watch)
    : services_(services), peer_watch_(peer_watch) {
    services_.active.set_watch([this] { look_later(); });
}

ProgressWatch::~ProgressWatch() {
    services_.active.set_watch({});
}

void ProgressWatch::look_later() {
    if (!timer_.pending()) timer_ = services_.loop.run_after(kInterval, [this] { look(); });
}

void ProgressWatch::look() {
    const base::TimePoint now = base::now();
    std::set<NodeId> stuck;
    services_.active.each([&](const std::shared_ptr<Active>& exchange) {
        for (const NodeId node : look_at(*exchange, now)) stuck.insert(node);
    });
    for (const NodeId node : stuck) connect_anew(node);
    if (services_.active.any()) look_later();
}

// Returns the nodes that do not take what they have asked for.
std::vector<NodeId> ProgressWatch::look_at(Active& exchange, base::TimePoint now) {
    const base::Duration stalled_for = exchange.stalled_for(now);
    if (stalled_for < kSuspicious) return {};
    std::vector<NodeId> nodes = exchange.waiting_for();
    for (const NodeId node : nodes) peer_watch_.suspect(node);
    record_wait(exchange, stalled_for, nodes);
    log_wait(exchange, stalled_for, nodes);
    const base::Duration deadline = services_.options.progress_deadline;
    if (stalled_for < deadline * exchange.deadlines()) return {};
    services_.control.send(control::Stalled{exchange.job(), nodes});
    if (exchange.patient()) return {};
    exchange.abort(
        base::make_error(base::ErrorKind::timeout, "nothing has moved for {} ms; waited for {}",
                         stalled_for / std::chrono::milliseconds(1), services_.peers.names(nodes)));
    // The abort ends everything except what a peer has asked for and does not take. When the
    // connection ends, others' exchanges end, too.
    if (exchange.given_up == base::TimePoint{}) exchange.given_up = now;
    if (now - exchange.given_up < deadline) return {};
    exchange.given_up = now;
    return nodes;
}

// The other end is not told, and what it has sent is lost: all rounds between the two begin anew,
// which the controller sees to.
void ProgressWatch::connect_anew(NodeId node) {
    base::log_event(base::events::kPeerStuck, {{"peer", services_.peers.name(node)}});
    services_.peers.reconnect(node);
    services_.control.send(control::PeerLost{node, "it does not take what it has asked for"});
}

void ProgressWatch::record_wait(const Active& exchange, base::Duration stalled_for,
                                const std::vector<NodeId>& nodes) const {
    Record record = exchange_record(RecordKind::exchange_waits, exchange.job(), exchange.what());
    record.amount = static_cast<uint64_t>(stalled_for / std::chrono::milliseconds(1));
    services_.recorder->note(record, nodes);
}

// It is no fault that others are late. A worker that waits for long without knowing wants to know
// for whom.
void ProgressWatch::log_wait(Active& exchange, base::Duration stalled_for,
                             const std::vector<NodeId>& nodes) const {
    const base::TimePoint now = base::now();
    const base::TimePoint since = now - stalled_for;
    if (stalled_for < kNoticeable || nodes.empty()) return;
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

}  // namespace pace::daemon
