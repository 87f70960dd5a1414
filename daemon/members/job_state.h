// JobState: what this node knows of a job, shared by the job's rounds, groups and adoptions.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/control/messages.h"
#include "daemon/members/job_port.h"
#include "daemon/members/model_hold.h"
#include "daemon/members/request.h"
#include "daemon/members/worker.h"
#include "daemon/partial/agreement/roster.h"
#include "daemon/runtime/scratch.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

// The membership at one epoch. Epoch 0: none yet, or void.
struct View {
    uint64_t epoch = 0;
    std::vector<control::Member> members;  // by rank

    bool contains(control::Rank rank) const;
    NodeId node_of(control::Rank rank) const;  // 0: not a member
    bool contains_node(NodeId node) const;
    // Each node once, in the order of the nodes' lowest ranks: the node order of every sum.
    std::vector<NodeId> nodes() const;
    uint32_t zone_of(control::Rank rank) const;  // 0: not known, or not a member
    uint32_t nccl_of(control::Rank rank) const;  // 0: its node has none, or not a member
    // For each of nodes(), in their order: where the node is, and which NCCL it has.
    std::vector<uint32_t> zones() const { return of_nodes(&control::Member::zone); }
    std::vector<uint32_t> nccl() const { return of_nodes(&control::Member::nccl); }
    // The members by node, in the order of nodes().
    partial::Roster roster() const;

  private:
    const control::Member* find(control::Rank rank) const;
    std::vector<uint32_t> of_nodes(uint32_t control::Member::*fact) const;
};

// The model at the start of training, kept where dynamic weights may need it (missing = initial).
struct InitialModel {
    std::shared_ptr<Scratch> memory =
        std::make_shared<Scratch>();  // copies for others may still read it
    collectives::Layout layout;
    bool valid = false;
    bool is_coming = false;  // something writes to the memory
};

// How long a broadcast that gives a job its model waits for a root that is away. A guess: the time
// that daemons, and the trainers' sessions, take to come back.
inline constexpr base::Duration kRootWait = std::chrono::seconds(5);

struct JobState {
    JobState(Services& all_services, JobPort& job_port, control::JobOptions job_options,
             uint32_t user)
        : services(all_services), port(&job_port), options(std::move(job_options)), uid(user) {}

    Services& services;
    JobPort* port;  // the job; never null
    control::JobOptions options;
    uint32_t uid = 0;  // owner of the job
    control::JobId id = 0;
    uint64_t token = 0;
    control::Run run;
    std::map<control::Rank, WorkerPtr> workers;
    View view;
    InitialModel initial;
    std::shared_ptr<ModelHold> hold = std::make_shared<ModelHold>();
    // Something has failed here from which only another view recovers. Told with each heartbeat
    // until that view comes.
    bool wants_view = false;
    base::Scope scope;  // of callbacks of what the job's parts have begun

    bool keeps_initial() const {
        return options.weights == control::Weights::dynamic &&
               options.missing == control::Missing::initial;
    }
    // Whether resync_every asks for a sync at one of the rounds [before, after).
    bool is_resync_due(uint64_t before, uint64_t after) const {
        const uint64_t every = options.resync_every;
        return every != 0 && after / every > before / every;
    }
    WorkerPtr find(control::Rank rank) const;
    // The workers of this view on `node` (0: somewhere else) that called something else, in words.
    std::string caller_at(NodeId node) const;
    // The workers of this view on these nodes, in words.
    std::string workers_at(const std::vector<NodeId>& nodes) const;
    // "worker 2 here, which has not called", for workers on this node.
    static std::string not_called(const std::vector<control::Rank>& ranks);
    // "no bytes pass between this node and b", if that is so for a node of the view; else empty.
    std::string cut_off() const;
    // The job's user, who pays for what the job has here.
    Payer payer() const { return {services.accounts, uid}; }
    // Whether the request is a broadcast whose root is no member of the view.
    bool lacks_root(const Request& request) const;
    // For how much longer such a request may wait for its root; 0: no longer.
    static base::Duration left_for_root(const Request& request);
    // "worker 0 to come back, the root of this pace_broadcast".
    static std::string root_to_come(const Request& request);
    // This node's members of the view, by rank; empty if one of them has no worker here.
    std::vector<WorkerPtr> local_members() const;

    // Ends the worker's first request, and lets the next one begin a moment later.
    void end_head(const WorkerPtr& worker, Ending ending);
    // Ends all requests of the worker that are not in an exchange.
    void end_all(const WorkerPtr& worker, const Ending& ending);
    // Memory for a copy of an initial model with this layout. Null if the job needs no copy, has
    // one, or is getting one from elsewhere. The caller that gets memory reports by initial_came()
    // or initial_is_lost() what became of the copy.
    std::shared_ptr<Scratch> place_for_initial(const collectives::Layout& layout);
    void initial_came(collectives::Layout layout);
    void initial_is_lost() { initial.is_coming = false; }
    // Whether there is an initial model that these buffers are like.
    bool has_initial(const std::vector<BufferPtr>& buffers) const;
};

}  // namespace pace::daemon
