// Groups: those that an earlier attachment's controller has ordered. It may have died, or stood still, before it had told all of a group's
// nodes. Whoever was told would wait for the others until the progress deadline.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/exchange/groups.h"

namespace pace::daemon {

namespace {

// A node that has begun is heard of long before this. One that has not, because it is very slow, costs its group a second try.
constexpr base::Duration kHeardWithin = std::chrono::milliseconds(100);
constexpr base::Duration kLookInterval = kHeardWithin / 4;

}  // namespace

void Groups::attached_anew() {
    if (are_static()) return;  // nobody orders them
    earlier_.clear();
    for (const auto& [group, exchange] : running_) {
        exchange->ask_others();
        earlier_.push_back(exchange);
    }
    look_later();
}

// Gives up what does not move and waits for a node that has said nothing in it. Members are ready again, and their nodes drop what still
// comes; groups commit member by member, so that it is right whatever the others do.
void Groups::look_for_unknown() {
    const base::TimePoint now = base::now();
    for (const auto& weak : std::exchange(earlier_, {})) {
        const std::shared_ptr<Exchange> exchange = weak.lock();
        if (!exchange || exchange->ended()) continue;
        const std::vector<NodeId> unheard = exchange->unheard();
        if (unheard.empty() || exchange->stalled_for(now) < kHeardWithin) {
            earlier_.push_back(exchange);  // it may come to wait for another one
            continue;
        }
        const std::string names = job_.services.peers.names(unheard);
        base::log_info(
            "a group is given up: its order is an earlier attachment's, and may not have reached "
            "all of its nodes",
            {{"job", job_.options.name}, {"exchange", exchange->what()}, {"unheard", names}});
        exchange->abort(base::make_error(base::ErrorKind::aborted,
                                         "the controller may not have told {} of it", names));
        // Whoever begins it yet, or waits for what this node would have sent next, learns of it at once.
        send_poison(job_.services, exchange->plan().number, exchange->plan().nodes);
    }
    look_later();
}

void Groups::look_later() {
    if (earlier_.empty()) return;
    earlier_timer_ = job_.services.loop.run_after(kLookInterval, [this] { look_for_unknown(); });
}

}  // namespace pace::daemon
