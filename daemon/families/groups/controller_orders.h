// ControllerOrders: groups that the controller orders, of workers that have told it that they are
// ready. An order is held, run or refused (Miao et al., SIGMOD 2021, Algorithm 2).
#pragma once

#include <string>

#include "daemon/families/groups/departed_calls.h"
#include "daemon/families/groups/early_orders.h"
#include "daemon/families/groups/ready_signals.h"
#include "daemon/families/groups/running_groups.h"

namespace pace::daemon {

class ControllerOrders final : public GroupSource, private EarlyOrders::Owner {
  public:
    ControllerOrders(JobState& job, RunningGroups& running)
        : job_(job), running_(running), signals_(job), early_(job, *this), calls_(job) {}

    void order(const control::GroupOrder& order);
    void abort(control::GroupId group, const base::Error& error);
    // Orders that are held are void. Nobody is told.
    void drop_held();

    // The worker computes, and will average with this iteration, on buffers like those of its
    // latest average.
    void announce(Worker& worker, uint64_t iteration);
    // Announces the worker again, to a controller that may not know of the announcement.
    void announce_again(const Worker& worker);
    // The worker will not average, or not as announced.
    void take_back(Worker& worker);
    // The trainer asked to cancel the worker's call. An answer or an order follows.
    void withdraw(Worker& worker) { signals_.withdraw(worker); }
    // The worker's trainer is gone.
    void left(Worker& worker);
    // The trainer of a worker with a ready signal is gone.
    void departed(const WorkerPtr& worker) { calls_.keep(worker); }

    void called(Worker& worker) override;
    void caught_up(Worker& worker) override;
    std::string awaited(const Worker& worker) const override;
    void ended(const Group& group, const ExchangeOutcome& outcome) override;
    void try_again(const Group& group, const ExchangeOutcome& outcome) override;

  private:
    Group gather(const control::GroupOrder& order);
    void run(const Group& group);
    void give_up_with(const Worker& worker);
    void too_late(const control::GroupOrder& order) override;
    void refuse(const Group& group, const std::string& reason);
    void tell_refused(const Group& group, const std::string& reason);
    uint64_t number_of(control::GroupId group) const;
    void forget(control::GroupId group) { running_.forget(group, number_of(group)); }
    bool has_cut(const std::vector<NodeId>& nodes) const;

    JobState& job_;
    RunningGroups& running_;
    ReadySignals signals_;
    EarlyOrders early_;
    DepartedCalls calls_;
};

}  // namespace pace::daemon
