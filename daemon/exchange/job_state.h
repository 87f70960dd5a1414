// JobState: what this node knows of a job, shared by the job's rounds, groups and adoptions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/collectives/layout.h"
#include "daemon/control/messages.h"
#include "daemon/exchange/model_hold.h"
#include "daemon/exchange/request.h"
#include "daemon/exchange/scratch.h"
#include "daemon/exchange/services.h"
#include "daemon/exchange/worker.h"
#include "daemon/partial/roster.h"

namespace pace::daemon {

// The membership at one epoch. Epoch 0: none yet, or void.
struct View {
    uint64_t epoch = 0;
    std::vector<control::Member> members;  // by rank

    bool contains(control::Rank rank) const;
    NodeId node_of(control::Rank rank) const;  // 0: not a member
    bool contains_node(NodeId node) const;
    // Each node once, in the order of its lowest rank: the node order of every sum.
    std::vector<NodeId> nodes() const;
    uint32_t zone_of(control::Rank rank) const;  // 0: not known, or not a member
    uint32_t nccl_of(control::Rank rank) const;  // 0: its node has none, or not a member
    // Where each of nodes() is, and which NCCL it has, in their order.
    std::vector<uint32_t> zones() const { return of_nodes(&control::Member::zone); }
    std::vector<uint32_t> nccl() const { return of_nodes(&control::Member::nccl); }
    // The members by node, in that order.
    partial::Roster roster() const;

  private:
    const control::Member* find(control::Rank rank) const;
    std::vector<uint32_t> of_nodes(uint32_t control::Member::*fact) const;
};

// The model at the start of training, kept where dynamic weights may need it (missing = initial).
struct InitialModel {
    std::shared_ptr<Scratch> memory =
        std::make_shared<Scratch>();  // whoever copies may read it still
    collectives::Layout layout;
    bool valid = false;
    bool is_coming = false;  // somebody writes to the memory
};

struct JobState {
    JobState(Services& all_services, control::JobOptions job_options, uint32_t user)
        : services(all_services), options(std::move(job_options)), uid(user) {}

    Services& services;
    control::JobOptions options;
    uint32_t uid = 0;  // whose it is
    control::JobId id = 0;
    uint64_t token = 0;
    control::Run run;
    std::map<control::Rank, WorkerPtr> workers;
    View view;
    InitialModel initial;
    std::shared_ptr<ModelHold> hold = std::make_shared<ModelHold>();
    // Something has failed here that only another view begins anew: said with each heartbeat until it comes.
    bool wants_view = false;
    // Looks at a worker's next request. Set by the job.
    std::function<void(const WorkerPtr&)> advance;
    // A group of these nodes begins. Set by the job.
    std::function<void(const std::vector<NodeId>&)> group_begins;
    // Memory that rounds no longer need, or none. Set by the job.
    std::function<Scratch()> round_memory;
    // How many rounds' results the worker's model has, if it may be given to a newcomer now. Set by the job.
    std::function<std::optional<uint64_t>(const Worker&)> model_round;
    // A round of pace_broadcast has left this in all members' buffers, and in what place_for_model() returned, if it was asked. Set
    // by the job; may be null, both.
    std::function<void(uint64_t round, const std::vector<BufferPtr>&,
                       const std::shared_ptr<Scratch>& copy)>
        broadcasted;
    std::function<std::shared_ptr<Scratch>(const std::vector<BufferPtr>&)> place_for_model;
    // What the node has of a parameter server's model. Set by the job; may be null.
    std::function<control::ServerReport()> server_report;
    // What the report needs to know is looked up anew; then calls, unless the job is over by then.
    std::function<void(std::function<void()>)> before_server_report;
    // A newcomer has got a model with the results of so many rounds; or has got none, and takes part in no round. Set by the job.
    std::function<void(const Worker&, uint64_t)> adopted;
    std::function<void(const Worker&)> departed;

    base::Scope scope;  // what the job's parts have begun, and is to call them back

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
    // Of this view: who on `node` (0: somewhere else) called something else, in words.
    std::string caller_at(NodeId node) const;
    // Of this view: the workers at these nodes, in words.
    std::string workers_at(const std::vector<NodeId>& nodes) const;
    // "worker 2 here, which has not called", for workers on this node.
    static std::string not_called(const std::vector<control::Rank>& ranks);
    // "no bytes pass between this node and b", if so for a node of the view; else empty.
    std::string cut_off() const;
    // Whoever's job it is pays for what it has here.
    Payer payer() const { return {services.accounts, uid}; }
    // This node's members of the view that are here, by rank; empty if one of them is missing.
    std::vector<WorkerPtr> local_members() const;

    // Ends the worker's first request, and lets the next one begin a moment later.
    void end_head(const WorkerPtr& worker, Ending ending);
    // Ends all of the worker's requests that are not in an exchange.
    void end_all(const WorkerPtr& worker, const Ending& ending);
    // Where to leave a copy of a model that is laid out so; null if the job needs none, has one, or gets one from somebody else. Whoever
    // is given a place says by initial_came() or initial_is_lost() what has become of it.
    std::shared_ptr<Scratch> place_for_initial(const collectives::Layout& layout);
    void initial_came(collectives::Layout layout);
    void initial_is_lost() { initial.is_coming = false; }
    // There is one, and these buffers are like it.
    bool has_initial(const std::vector<BufferPtr>& buffers) const;
};

}  // namespace pace::daemon
