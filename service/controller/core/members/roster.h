// Roster: a job's workers by rank. It is the only writer of their states (worker.h), and of the
// journal's records of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "service/controller/core/journal/journal_record.h"
#include "service/controller/core/members/worker.h"
#include "service/controller/core/nodes/membership.h"
#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

// How a worker is gone.
enum class Departure : uint8_t {
    left,           // in order
    died,           // its process died
    with_node,      // its node was lost, and its process may live
    with_all_of_it  // its node was lost, which was in its process
};

class Roster {
  public:
    // `nodes` must outlive the roster.
    Roster(JobId job, Rank world, Membership& nodes) : job_(job), world_(world), nodes_(nodes) {}

    // Allocates memory proportional to the world, if there is none yet. A job that nobody joins
    // uses none.
    void make_room();

    // Empty until make_room(). The vector never moves afterwards.
    std::vector<Worker>& workers() { return workers_; }
    const std::vector<Worker>& workers() const { return workers_; }
    Worker& at(Rank rank) { return workers_[rank]; }
    const Worker& at(Rank rank) const { return workers_[rank]; }
    // Null if there is no such rank, or no room yet.
    const Worker* find(Rank rank) const {
        return rank < workers_.size() ? &workers_[rank] : nullptr;
    }
    // Null unless the rank is live at the node.
    Worker* live_at(NodeId node, Rank rank);

    // The number of workers for which a daemon speaks.
    uint32_t live() const { return live_; }
    // The number of ranks that are or were taken.
    uint32_t seen() const { return seen_; }
    // Whether some workers are lost or missing.
    bool has_unsettled() const { return unsettled_ > 0; }
    bool has(WorkerState state) const {
        return any([state](const Worker& worker) { return worker.state == state; });
    }
    template <typename Predicate>
    bool any(Predicate predicate) const {
        return std::any_of(workers_.begin(), workers_.end(), predicate);
    }

    // The nodes that have or had workers.
    const std::set<NodeId>& nodes_ever() const { return nodes_ever_; }
    void forget_node(NodeId node) { nodes_ever_.erase(node); }

    // The rank, which is not live, is taken by a worker at the node.
    void enter(Rank rank, NodeId node, WorkerState state, const Turn& turn);
    // A live worker is gone. If it went with its node, the job may wait for its return.
    void go(Rank rank, Departure how, const Turn& turn);
    // The worker takes part from now on, with the next view.
    void admit(Rank rank, bool wants_model, const Turn& turn);
    // The worker no longer takes part, though it is live.
    void suspend(Rank rank, const Turn& turn);
    // An admitted worker is a newcomer again.
    void send_back(Rank rank, const Turn& turn);
    // The job starts: who has joined is a member.
    void start();
    // The workers take part in the view that has begun.
    void make_members(std::span<const Member> members);

    // The job was under way before this controller: each rank that nobody has is a member that may
    // return.
    void expect_members();
    // Nobody waits any longer for members that have not returned. Returns their ranks.
    std::vector<Rank> give_up_missing(const Turn& turn);
    // Nobody waits any longer for workers that were lost with their nodes.
    void expect_no_return();

    // The journal's content after the controller's restart, in its order. `is_started`: whether the
    // job has an epoch so far.
    void replay(const PlacementRecord& record, bool is_started);
    void replay_finished();
    void append_records(std::vector<JournalRecord>& records) const;

  private:
    void place(Rank rank, Placement placement, const Turn& turn) const;

    JobId job_;
    Rank world_;
    Membership& nodes_;
    std::vector<Worker> workers_;
    uint32_t live_ = 0;
    uint32_t seen_ = 0;       // not absent
    uint32_t unsettled_ = 0;  // lost or missing
    std::set<NodeId> nodes_ever_;
};

}  // namespace pace::controller
