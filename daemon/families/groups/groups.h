// Groups: partial reduce at this node. A worker's call waits for a group, and the group's nodes
// exchange with the weights of its order. The job's policy says whose orders these are: the
// controller's (controller_orders.h), or those that follow from the view (static_orders.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/families/groups/controller_orders.h"
#include "daemon/families/groups/earlier_groups.h"
#include "daemon/families/groups/running_groups.h"
#include "daemon/families/groups/static_orders.h"

namespace pace::daemon {

class Groups {
  public:
    explicit Groups(JobState& job)
        : job_(job),
          running_(job),
          ordered_(job, running_),
          static_(job, running_),
          earlier_(job) {}

    // The worker's first request is an average: its group begins, or is asked for.
    void called(const WorkerPtr& worker) { source().called(*worker); }
    // The worker computes, and will average with this iteration, on buffers like those of its
    // latest average.
    void announce(const WorkerPtr& worker, uint64_t iteration) {
        if (!are_static()) ordered_.announce(*worker, iteration);
    }
    // Announces the worker again, to a controller that may not know of the announcement.
    void announce_again(const Worker& worker) { ordered_.announce_again(worker); }
    // The worker will not average, or not as announced.
    void take_back(Worker& worker) { ordered_.take_back(worker); }
    // The worker's trainer is gone.
    void left(Worker& worker);
    // The trainer of a worker with a ready signal is gone. An order that names the worker may be
    // under way, so its buffers are kept for that.
    void departed(const WorkerPtr& worker) { ordered_.departed(worker); }
    // The trainer asked to cancel the worker's request; withdrawn() or an order follows.
    void withdraw(Worker& worker);
    void withdrawn(control::Rank rank);
    // More of the worker's first request is made.
    void progressed(const WorkerPtr& worker);

    void order(const control::GroupOrder& order) { ordered_.order(order); }
    void abort(control::GroupId group, const base::Error& error) { ordered_.abort(group, error); }
    void abort_all(const base::Error& error);

    // Every view and order is void.
    void invalidate(const base::Error& error);
    // The node is attached to a controller that ordered none of the groups under way. This
    // controller, or the one before, may not have told all nodes of a group.
    void attached_anew();

    // The view is about to change (prepare), and has changed (commit_view). Static groups follow
    // from the view: their exchanges are given up, and their members meet anew in the next view.
    void prepare(const base::Error& error);
    void commit_view();

    // Reports the static groups that have ended since the last report.
    void report(std::vector<control::GroupReport>& ret_reports) { static_.report(ret_reports); }

    bool is_exchanging() const { return !running_.empty(); }
    // In words, what the worker's first request waits for: a group, or something in its exchange.
    std::string awaited(const Worker& worker) const;

  private:
    bool are_static() const { return job_.options.policy == control::Policy::prague_static; }
    const GroupSource& source() const {
        return are_static() ? static_cast<const GroupSource&>(static_) : ordered_;
    }
    GroupSource& source() { return are_static() ? static_cast<GroupSource&>(static_) : ordered_; }

    JobState& job_;
    RunningGroups running_;
    ControllerOrders ordered_;
    StaticOrders static_;
    EarlierGroups earlier_;
};

}  // namespace pace::daemon
