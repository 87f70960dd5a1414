// Core::State: the state of the core, and its event handlers, which pass events to the parts
// concerned.
#pragma once

#include "service/controller/core/core.h"
#include "service/controller/core/jobs/jobs.h"
#include "service/controller/core/nodes/cluster.h"

namespace pace::controller {

struct Core::State {
    State(const CoreOptions& options, uint64_t (*make_token)());

    void lose_node(NodeId node, const std::string& reason, bool excluded, const Turn& turn);
    void settle(Job& job, const Turn& turn);
    void settle_all(const Turn& turn);
    void cuts_changed(const std::vector<CutLinks::Pair>& pairs, const Turn& turn);
    void settle_cuts(const Turn& turn);
    void learn_links(const From<Heartbeat>& event);
    void forget_nodes(const Turn& turn);

    // Calls `apply` with the job if the job exists, then settles the job.
    template <typename Apply>
    void with_job(JobId id, const Turn& turn, Apply apply) {
        Job* job = jobs.find(id);
        if (job == nullptr) return;
        apply(*job);
        settle(*job, turn);
    }

    void on(const Hello& event, const Turn& turn);
    void on(const NodeHeard& event, const Turn& turn);
    void on(const NodeLost& event, const Turn& turn);
    void on(const From<PeerLost>& event, const Turn& turn);
    void on(const From<WorkerJoin>& event, const Turn& turn);
    void on(const From<JobCreate>& event, const Turn& turn);
    void on(const From<JobDelete>& event, const Turn& turn);
    void on(const From<NodeDrain>& event, const Turn& turn);
    base::Result<> set_draining(const std::string& name, bool draining, const Turn& turn);
    void on(const From<WorkerLeave>& event, const Turn& turn);
    void on(const From<JobKept>& event, const Turn& turn);
    void on(const From<WorkerAdmit>& event, const Turn& turn);
    void on(const From<Ready>& event, const Turn& turn);
    void on(const From<Withdraw>& event, const Turn& turn);
    void on(const From<GroupDone>& event, const Turn& turn);
    void on(const From<ViewPrepared>& event, const Turn& turn);
    void on(const From<Stalled>& event, const Turn& turn);
    void on(const From<LinkCut>& event, const Turn& turn);
    void on(const From<Heartbeat>& event, const Turn& turn);
    void on(const From<ServerStored>& event, const Turn& turn);
    void on(const From<ServerAsked>& event, const Turn& turn);
    void on(const From<ServerAssigned>& event, const Turn& turn);
    void on(const From<CheckpointAsked>& event, const Turn& turn);
    void on(const From<ServerSaved>& event, const Turn& turn);
    void on(const Tick& event, const Turn& turn);

    Cluster cluster;
    Jobs jobs;
};

}  // namespace pace::controller
