// ServerJob: a server job's model, as the controller knows it: the order of its pushes and pulls, and which node keeps which shard.
//
// The order is the controller's while it lives. After its restart it goes on from the ledger of the node that has come
// farthest; what daemons have pushed and asked for and not seen ordered, they say again after every view.
//
// A node that keeps shards and is not there is waited for, for a while: pushes and pulls wait, too, and it catches up. A shard that no
// node has any more takes the model with it: all shards begin anew, as another *generation*, from the newest checkpoint of
// which each shard is on some node's disk. Without one the model is lost, and waits for a pace_broadcast.
//
// Whoever hears of the order hears all of it. A node that attaches anew may have missed some, and hears nothing more until a view
// has told it what that was.
//
// A generation's number is one above all that the nodes know, and below that the controller's life: so nodes that come from different
// lives never take parts of two models for parts of one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/checkpoints.h"
#include "service/controller/core/saved_set.h"
#include "service/controller/core/server.h"
#include "service/controller/core/turn.h"

namespace pace::controller {

class ServerJob {
  public:
    // Options as check() returns them.
    ServerJob(JobId job, const JobOptions& options, uint64_t token, uint32_t life);

    // Entries of the order that a node may have missed and is given again; as many as its own tail has. A worker has some eight
    // under way at most, so that this is enough for a hundred of them; a node that has missed more has lost its shards.
    static constexpr size_t kRecentMax = 1024;

    // The job has had a model in an earlier life of the controller: it is taken up, or gone back to, and else lost. Nothing begins
    // as if there had been none.
    void set_under_way() { under_way_ = true; }

    void add_member(Rank rank) { order_.add_member(rank); }
    void add_newcomer(Rank rank) { order_.add_newcomer(rank); }
    void remove_member(Rank rank, TimePoint now) {
        order_.remove_member(rank, now);
        checkpoints_.forget(rank);
    }

    // The rank is a member.
    void on_stored(const From<ServerStored>& event, TimePoint now);
    void on_asked(const From<ServerAsked>& event, TimePoint now);
    void on_assigned(const From<ServerAssigned>& event);
    void on_checkpoint_asked(const From<CheckpointAsked>& event);
    void on_saved(const From<ServerSaved>& event, const Turn& turn);
    // Of what it has asked for. False if that is ordered, or was never asked.
    bool withdraw(Rank rank) { return order_.withdraw(rank); }

    // Orders a checkpoint, if one is due.
    void look_at_checkpoints(TimePoint now);
    std::optional<TimePoint> next_checkpoint() const;
    const Checkpoints& checkpoints() const { return checkpoints_; }

    // Sends what has been ordered to all who take part.
    void send(const Turn& turn);

    // A change of view begins; its nodes' answers come; it ends. `commit` has its members and nodes, and gets what else
    // there is to say. Nodes with shards that are not there are waited for so long.
    void begin_view() { reports_.clear(); }
    void on_prepared(NodeId node, const ServerReport& report) { reports_[node] = report; }
    void commit(To<CommitView>& commit, Duration patience, const Turn& turn);

    // Until when a node with shards is waited for; then a view is due that goes on without it.
    std::optional<TimePoint> absent_until() const { return absent_until_; }
    // The node says that it keeps shards. True if a view is due for that.
    bool announce(NodeId node);
    void on_node_lost(NodeId node);

    // Of whatever is on the disks of nodes, something may help.
    bool wants_disks() const { return lost_ || absent_until_ || (under_way_ && places_.empty()); }
    // What its disk has may help: a worker that joins there is reason for a view.
    bool is_waiting_for(NodeId node) const {
        return lost_ || (absent_until_ && (places_.empty() || is_host(node)));
    }

    // It keeps a shard.
    bool is_host(NodeId node) const;
    // Those, and whoever says so.
    std::vector<NodeId> hosts() const;

    // Somebody waits for a pull that this worker's clock holds back.
    bool holds_up(Rank rank) const { return order_.holds_up(rank); }

    const Server& order() const { return order_; }
    const std::vector<NodeId>& places() const { return places_; }
    uint64_t generation() const { return generation_; }

  private:
    // Whether a shard is where it is said to be.
    enum class Shard : uint8_t { kept, absent, lost };
    // Of any shard.
    struct Missing {
        bool absent = false;
        bool lost = false;
    };

    bool hears(uint64_t generation) const;
    const ServerReport* farthest_report() const;
    Shard look_for(size_t shard, NodeId node, uint64_t generation, uint64_t from) const;
    bool may_wait(Duration patience, const Turn& turn);
    Missing look() const;
    bool saves() const;
    bool take_up(Duration patience, const Turn& turn);
    std::vector<NodeId> reporting_nodes() const;
    void begin_anew();
    void go_back_to(const SavedSet& saved);
    void warn_of_loss(const std::optional<SavedSet>& saved, const Turn& turn) const;
    void warn_of_no_checkpoint(const Turn& turn) const;
    void remember(const std::vector<ServerEntry>& entries);
    void tell(To<CommitView>& commit);

    JobId job_;
    std::string name_;
    uint64_t token_;
    uint32_t life_;
    uint64_t elements_;
    uint32_t shards_;  // 0: as many as the first view has nodes
    bool restores_;    // checkpoints of other jobs of its name, too
    Server order_;
    Checkpoints checkpoints_;
    std::vector<NodeId> places_;  // by shard; empty: no view yet
    uint64_t generation_ = 0;     // 0: not known yet
    std::map<NodeId, ServerReport> reports_;
    std::deque<ServerEntry> recent_;  // the last of the order
    std::optional<TimePoint> absent_until_;
    bool lost_ = false;           // the model; nothing has been assigned since
    std::set<NodeId> announced_;  // since the last view that has all of the model
    bool under_way_ = false;      // there has been a model before this life of the controller
    std::vector<NodeId> told_;    // who hears of the order, and has heard all of it
};

}  // namespace pace::controller
