// Groups: partial reduce at this node. A worker that is ready says so to the controller; the controller orders a group; the
// group's nodes exchange with the weights of the order (Miao et al., SIGMOD 2021, Algorithm 2).
//
// Averaging commits member by member: if an exchange fails, the members on this node are ready again, with their inputs
// as they were, whatever has become of the others.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/job_state.h"

namespace pace::daemon {

class Groups {
  public:
    explicit Groups(JobState& job) : job_(job) {}

    // The worker's first request is an average: sends its ready signal.
    void announce(const WorkerPtr& worker);
    // The trainer asked to cancel it; withdrawn() or an order follows.
    void withdraw(Worker& worker);
    void withdrawn(control::Rank rank);

    void order(const control::GroupOrder& order);
    void abort(control::GroupId group, const base::Error& error);
    void abort_all(const base::Error& error);

    // The trainer of a worker with a ready signal is gone. An order that names it may be under way: its buffers stay for that.
    void departed(const WorkerPtr& worker);

  private:
    WorkerPtr claim(const control::Part& part, uint32_t digest);
    bool plan_group(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                    Exchange::Plan& ret_plan) const;
    void run(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
             Exchange::Plan plan);
    void ended(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
               Exchange& exchange, const base::Result<>& result);
    void refuse(const control::GroupOrder& order, const std::vector<WorkerPtr>& members);
    void again(const WorkerPtr& worker);

    JobState& job_;
    std::unordered_map<control::GroupId, std::shared_ptr<Exchange>> running_;
    std::vector<WorkerPtr> departed_;
    std::vector<Scratch> spare_;
};

}  // namespace pace::daemon
