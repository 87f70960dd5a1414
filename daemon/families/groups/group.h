// Group: workers of a job that average together once, as this node takes part in it. What follows
// from its order is the same at all nodes.
#pragma once

#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

struct Group {
    control::GroupOrder order;
    std::vector<WorkerPtr> members;  // those here, as the order has them
    uint64_t number = 0;             // under which the nodes exchange

    control::GroupId id() const { return order.group; }
};

// Each node once, as the order's members name it first.
std::vector<NodeId> nodes_of(const control::GroupOrder& order);

// How many elements all of these members have made ready.
uint64_t least_ready(const std::vector<WorkerPtr>& members);

// Plans the exchange of a group with members here, whose calls are alike. Returns false if the
// order weighs an initial model that this node is to contribute and does not have.
bool plan_group(const JobState& job, const Group& group, Exchange::Plan& ret_plan);

// The worker's first request is an average. The worker waits for its group from now on.
void wait_for_group(Worker& worker);
// Ends the members' calls. Skips members whose trainers are gone.
void end_calls(JobState& job, const Group& group, const base::Error& error);
// The worker was suspended, or left behind with this node, in the midst of an exchange that failed:
// its place is asked for anew.
void ask_for_place(JobState& job, const WorkerPtr& worker);
// The workers here, among these, that have not called.
std::vector<control::Rank> not_called_here(const JobState& job,
                                           const std::vector<control::Rank>& ranks);

}  // namespace pace::daemon
