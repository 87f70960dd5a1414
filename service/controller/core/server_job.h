// ServerJob: a server job's model, as the controller knows it: the order of its pushes and pulls, and which node keeps which shard.
//
// The order is the controller's while it lives. After its restart it goes on from the ledger of the node that has come
// farthest; what daemons have pushed and asked for and not seen ordered, they say again after every view.
//
// A shard that no node has any more takes the model with it: all shards begin anew, as another *generation*.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "service/controller/core/server.h"
#include "service/controller/core/turn.h"

namespace pace::controller {

class ServerJob {
  public:
    // Options as check() returns them.
    ServerJob(JobId job, const JobOptions& options, uint64_t token);

    void add_member(Rank rank) { order_.add_member(rank); }
    void remove_member(Rank rank, TimePoint now) { order_.remove_member(rank, now); }

    // The rank is a member.
    void on_stored(const ServerStored& event, TimePoint now);
    void on_asked(const ServerAsked& event, TimePoint now);
    void on_assigned(const ServerAssigned& event);
    // Of what it has asked for. False if that is ordered, or was never asked.
    bool withdraw(Rank rank) { return order_.withdraw(rank); }

    // Sends what has been ordered to all who take part.
    void send(const Turn& turn);

    // A change of view begins; its nodes' answers come; it ends. `commit` has its members and nodes, and gets what else
    // there is to say.
    void begin_view() { reports_.clear(); }
    void on_prepared(NodeId node, const ServerReport& report) { reports_[node] = report; }
    void commit(CommitView& commit, const std::string& name, const Turn& turn);

    // It keeps a shard.
    bool is_host(NodeId node) const;
    std::vector<NodeId> hosts() const;

    // Somebody waits for a pull that this worker's clock holds back.
    bool holds_up(Rank rank) const { return order_.holds_up(rank); }

    const Server& order() const { return order_; }
    const std::vector<NodeId>& places() const { return places_; }
    uint64_t generation() const { return generation_; }

  private:
    void take_up();
    bool is_kept(size_t shard) const;

    JobId job_;
    uint64_t token_;
    uint32_t shards_;  // 0: as many as the first view has nodes
    Server order_;
    std::vector<NodeId> places_;  // by shard; empty: no view yet
    uint64_t generation_ = 0;     // 0: not known yet
    std::map<NodeId, ServerReport> reports_;
    std::vector<ServerEntry> missed_;   // that not all nodes may have heard
    std::vector<NodeId> told_;          // who hears of the order
    std::vector<ServerEntry> entries_;  // scratch of send
};

}  // namespace pace::controller
