#include "daemon/families/groups/earlier_groups.h"

#include <utility>

#include "base/log/log.h"

namespace pace::daemon {

namespace {

// A node that has begun is heard of long before this. A node that has not, because it is very slow,
// costs its group a second try.
constexpr base::Duration kHeardWithin = std::chrono::milliseconds(100);
constexpr base::Duration kLookInterval = kHeardWithin / 4;

}  // namespace

void EarlierGroups::watch(const std::vector<std::shared_ptr<Exchange>>& exchanges) {
    watched_.clear();
    for (const auto& exchange : exchanges) {
        exchange->ask_others();
        watched_.push_back(exchange);
    }
    look_later();
}

void EarlierGroups::look() {
    const base::TimePoint now = base::now();
    for (const auto& weak : std::exchange(watched_, {})) {
        const std::shared_ptr<Exchange> exchange = weak.lock();
        if (!exchange || exchange->ended()) continue;
        const std::vector<NodeId> unheard = exchange->unheard();
        if (unheard.empty() || exchange->stalled_for(now) < kHeardWithin) {
            watched_.push_back(exchange);  // it may wait for another node later
            continue;
        }
        give_up(*exchange, unheard);
    }
    look_later();
}

void EarlierGroups::give_up(Exchange& exchange, const std::vector<NodeId>& unheard) const {
    const std::string names = job_.services.peers.names(unheard);
    base::log_info(
        "a group is given up: its order is an earlier attachment's, and may not have reached all "
        "of its nodes",
        {{"job", job_.options.name}, {"exchange", exchange.what()}, {"unheard", names}});
    exchange.abort(base::make_error(base::ErrorKind::aborted,
                                    "the controller may not have told {} of it", names));
    // A node that still begins this exchange, or waits for this node's next message, learns of the
    // end at once.
    send_poison(job_.services, exchange.plan().number, exchange.plan().nodes);
}

void EarlierGroups::look_later() {
    if (watched_.empty()) return;
    timer_ = job_.services.loop.run_after(kLookInterval, [this] { look(); });
}

}  // namespace pace::daemon
