// Groups: groups that an earlier attachment's controller has ordered. That controller may have
// died, or stood still, before it had told all of a group's nodes. The nodes that were told would
// wait for the others until the progress deadline.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/families/groups/groups.h"

namespace pace::daemon {

namespace {

// A node that has begun is heard of long before this. A node that has not, because it is very slow,
// costs its group a second try.
constexpr base::Duration kHeardWithin = std::chrono::milliseconds(100);
constexpr base::Duration kLookInterval = kHeardWithin / 4;

}  // namespace

void Groups::attached_anew() {
    if (are_static()) return;  // nobody orders static groups
    earlier_.clear();
    for (const auto& [group, exchange] : running_) {
        exchange->ask_others();
        earlier_.push_back(exchange);
    }
    look_later();
}

// Gives up exchanges that do not move and wait for a node of which nothing was heard. The members
// are ready again, and their nodes drop what still comes. This is right whatever the other nodes
// do, as groups commit member by member.
void Groups::look_for_unknown() {
    const base::TimePoint now = base::now();
    for (const auto& weak : std::exchange(earlier_, {})) {
        const std::shared_ptr<Exchange> exchange = weak.lock();
        if (!exchange || exchange->ended()) continue;
        const std::vector<NodeId> unheard = exchange->unheard();
        if (unheard.empty() || exchange->stalled_for(now) < kHeardWithin) {
            earlier_.push_back(exchange);  // it may wait for another node later
            continue;
        }
        const std::string names = job_.services.peers.names(unheard);
        base::log_info(
            "a group is given up: its order is an earlier attachment's, and may not have reached "
            "all of its nodes",
            {{"job", job_.options.name}, {"exchange", exchange->what()}, {"unheard", names}});
        exchange->abort(base::make_error(base::ErrorKind::aborted,
                                         "the controller may not have told {} of it", names));
        // A node that still begins this exchange, or waits for this node's next message, learns of
        // the end at once.
        send_poison(job_.services, exchange->plan().number, exchange->plan().nodes);
    }
    look_later();
}

void Groups::look_later() {
    if (earlier_.empty()) return;
    earlier_timer_ = job_.services.loop.run_after(kLookInterval, [this] { look_for_unknown(); });
}

}  // namespace pace::daemon
