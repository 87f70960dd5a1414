// ServerJob: a server job's model, as the controller knows it: the order of its pushes and pulls,
// and which node keeps which shard.
//
// The order is the controller's while the controller lives. After a restart it continues from the
// ledger of the node that has come farthest. After every view daemons repeat the pushes and
// requests that they have not seen ordered.
//
// If a node with shards is absent, the job waits for a while. Pushes and pulls wait too, and the
// node catches up when it returns. If no node has a shard any more, the model is lost as a whole:
// all shards begin anew, as another *generation*, from the newest checkpoint whose every shard is
// on some node's disk. Without such a checkpoint the model waits for a pace_broadcast.
//
// A node that receives the order receives all of it. A node that attaches again may have missed
// entries, and receives nothing until a view has told it what it missed.
//
// A generation's number has two parts: the upper part is one above all that the nodes know, and the
// lower part is the controller's life. So nodes from different lives never mix parts of two models.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/serving/checkpoints.h"
#include "service/controller/core/serving/saved_set.h"
#include "service/controller/core/serving/server.h"
#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

class ServerJob {
  public:
    // Takes options as check() returns them.
    ServerJob(JobId job, const JobOptions& options, uint64_t token, uint32_t life);

    // The number of recent entries kept for nodes that missed some; a node's own tail has as many.
    // A worker has at most about eight entries under way, so that this is enough for a hundred
    // workers. A node that has missed more has lost its shards.
    static constexpr size_t kRecentMax = 1024;

    // The job had a model in an earlier life of the controller. The model is taken up or restored,
    // or else it is lost; it does not begin as if there had been none.
    void set_under_way() { under_way_ = true; }
    // Whether somebody may have got the model, or changed it: a newcomer's broadcast gets it too.
    // Before that, a newcomer's broadcast is part of the round that makes the model.
    bool is_model_made() const { return model_made_ || under_way_; }

    // The ranks that have part in the model as the nodes report it, until this life of the
    // controller has taken the model up. Nullopt: it has, or there is no model. The others went on
    // without any other worker.
    std::optional<std::set<Rank>> ranks_to_take_up() const;

    void add_member(Rank rank) { order_.add_member(rank); }
    void add_newcomer(Rank rank) { order_.add_newcomer(rank); }
    void remove_member(Rank rank, TimePoint now) {
        order_.remove_member(rank, now);
        checkpoints_.forget(rank);
    }

    // The rank must be a member.
    void on_stored(const From<ServerStored>& event, TimePoint now);
    void on_asked(const From<ServerAsked>& event, TimePoint now);
    void on_assigned(const From<ServerAssigned>& event);
    void on_checkpoint_asked(const From<CheckpointAsked>& event);
    void on_saved(const From<ServerSaved>& event, const Turn& turn);
    // Withdraws the rank's pull. False if the pull is ordered, or was never asked for.
    bool withdraw(Rank rank) { return order_.withdraw(rank); }

    // Orders a checkpoint if one is due.
    void look_at_checkpoints(TimePoint now);
    std::optional<TimePoint> next_checkpoint() const;
    const Checkpoints& checkpoints() const { return checkpoints_; }

    // Sends the newly ordered entries to all nodes that take part.
    void send(const Turn& turn);

    // The steps of a change of view: it begins, its nodes answer, it ends. `commit` has the view's
    // members and nodes; commit() adds the rest. Absent nodes with shards are awaited for
    // `patience`.
    void begin_view() { reports_.clear(); }
    void on_prepared(NodeId node, const ServerReport& report) { reports_[node] = report; }
    void commit(To<CommitView>& commit, Duration patience, const Turn& turn);

    // Until when an absent node with shards is awaited; then a view is due that continues without
    // it.
    std::optional<TimePoint> absent_until() const { return absent_until_; }
    // The node reports that it keeps shards. True if this requires a view.
    bool announce(NodeId node);
    void on_node_lost(NodeId node);

    // Whether checkpoints on the nodes' disks may help.
    bool wants_disks() const { return lost_ || absent_until_ || (under_way_ && places_.empty()); }
    // Whether the node's disk may help; then a worker that joins there requires a view.
    bool is_waiting_for(NodeId node) const {
        return lost_ || (absent_until_ && (places_.empty() || is_host(node)));
    }

    // Whether the node keeps a shard.
    bool is_host(NodeId node) const;
    // The nodes that keep shards, and those that report so.
    std::vector<NodeId> hosts() const;

    // Whether this worker's clock holds back a pull.
    bool holds_up(Rank rank) const { return order_.holds_up(rank); }

    const Server& order() const { return order_; }
    const std::vector<NodeId>& places() const { return places_; }
    uint64_t generation() const { return generation_; }

  private:
    // Whether a shard is where it should be.
    enum class Shard : uint8_t { kept, absent, lost };
    // Over all shards.
    struct Missing {
        bool absent = false;
        bool lost = false;
        bool any() const { return absent || lost; }
    };
    // What a view makes of the model.
    struct Fate {
        bool lost = false;              // it is not whole any more, and nobody is awaited
        std::optional<SavedSet> saved;  // the checkpoint that it goes back to
    };

    bool hears(uint64_t generation) const;
    const ServerReport* farthest_report() const;
    Shard look_for(size_t shard, NodeId node, uint64_t generation, uint64_t from) const;
    bool may_wait(Duration patience, const Turn& turn);
    Missing look() const;
    bool saves() const;
    bool take_up(Duration patience, const Turn& turn);
    std::vector<NodeId> reporting_nodes() const;
    void close_order(const Turn& turn);
    std::optional<Fate> decide(const Missing& missing, Duration patience, const Turn& turn);
    void begin_anew();
    std::vector<NodeId> begin_generation(const std::optional<SavedSet>& saved,
                                         std::vector<NodeId> nodes);
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
    bool restores_;    // also from checkpoints of other jobs of its name
    Server order_;
    Checkpoints checkpoints_;
    std::vector<NodeId> places_;  // by shard; empty: no view yet
    uint64_t generation_ = 0;     // 0: unknown so far
    std::map<NodeId, ServerReport> reports_;
    std::deque<ServerEntry> recent_;  // the last entries of the order
    std::optional<TimePoint> absent_until_;
    bool lost_ = false;           // the model is lost, and none assigned since
    std::set<NodeId> announced_;  // since the last view that had the whole model
    bool model_made_ = false;     // assigned, restored, asked for or changed
    bool under_way_ = false;      // a model existed before this life of the controller
    std::vector<NodeId> told_;    // nodes that receive the order, and have all of it
};

}  // namespace pace::controller
