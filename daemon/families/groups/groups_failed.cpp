// Groups that do not come to pass: refused here, aborted by the controller, or failed.
#include "base/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/families/groups/groups.h"

namespace pace::daemon {

using base::ErrorKind;

// Logs once per group and node. An abort on the controller's word is in the controller's log.
void Groups::log_failure(const control::GroupOrder& order, const Exchange& exchange,
                         const base::Error& error) const {
    if (error.kind == ErrorKind::aborted) return;
    base::log_event(base::events::kGroupFailed,
                    {{"job", job_.options.name},
                     {"group", order.group},
                     {"nodes", job_.services.peers.names(exchange.plan().nodes)},
                     {"reason", error.message}});
}

// Tells the other nodes, which may wait for this node in the group, and the controller.
void Groups::tell_refused(const control::GroupOrder& order, const std::string& reason) {
    send_poison(job_.services, number_of(order), nodes_of(order));
    forget(order);
    control::GroupDone done;
    done.job = job_.id;
    done.group = order.group;
    done.failed = true;
    done.reason = reason;
    job_.services.control->send(done);
}

void Groups::refuse(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                    const std::string& reason) {
    tell_refused(order, reason);
    for (const WorkerPtr& worker : members) {
        if (worker->port == nullptr) continue;
        if (order.initial_weight != 0 && !job_.has_initial(worker->head().buffers)) {
            job_.end_head(worker,
                          failed(base::make_error(ErrorKind::invalid,
                                                  "the job weighs the initial model (missing = "
                                                  "initial) but none was broadcast here: call "
                                                  "pace_broadcast on the same buffers first")));
            continue;
        }
        signal(*worker, control::ReadyStage::called);
    }
}

// This node does not begin the group's exchange: what others send for it is dropped.
void Groups::forget(const control::GroupOrder& order) {
    if (!running_.contains(order.group)) job_.services.transport.close_exchange(number_of(order));
}

void Groups::abort(control::GroupId group, const base::Error& error) {
    if (give_up(group)) return;
    const auto running = running_.find(group);
    if (running == running_.end()) {
        control::GroupOrder order;
        order.group = group;
        return forget(order);
    }
    const std::shared_ptr<Exchange> exchange = running->second;
    exchange->abort(error);
}

void Groups::abort_all(const base::Error& error) {
    for (const auto& [group, held] : held_) forget(held.order);
    held_.clear();
    std::vector<std::shared_ptr<Exchange>> exchanges;
    for (const auto& [group, exchange] : running_) exchanges.push_back(exchange);
    for (const auto& exchange : exchanges) exchange->abort(error);
}

void Groups::invalidate(const base::Error& error) {
    may_begin_static_ = false;
    abort_all(error);
    leave_static();
}

}  // namespace pace::daemon
