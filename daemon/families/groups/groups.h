// Groups: partial reduce at this node. A worker that is ready says so to the controller, the
// controller orders a group, and the group's nodes exchange with the weights of the order (Miao et
// al., SIGMOD 2021, Algorithm 2).
//
// Averaging commits member by member: if an exchange fails, the members on this node are ready
// again, with their inputs as they were, whatever happened to the other members.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/families/groups/ended_groups.h"
#include "daemon/members/job_state.h"
#include "protocol/static_groups.h"

namespace pace::daemon {

class Groups {
  public:
    explicit Groups(JobState& job) : job_(job) {}

    // The worker's first request is an average: sends its ready signal.
    void called(const WorkerPtr& worker);
    // The worker computes, and will average with this iteration, on buffers like those of its
    // latest average.
    void announce(const WorkerPtr& worker, uint64_t iteration);
    // Announces the worker again, to a controller that may not know of the announcement.
    void announce_again(Worker& worker);
    // The worker will not average, or not as announced.
    void take_back(Worker& worker);
    // The worker's trainer is gone.
    void left(Worker& worker);
    // The trainer asked to cancel the worker's request; withdrawn() or an order follows.
    void withdraw(Worker& worker);
    void withdrawn(control::Rank rank);
    // More of the worker's first request is made.
    void progressed(const WorkerPtr& worker);

    void order(const control::GroupOrder& order);
    void abort(control::GroupId group, const base::Error& error);
    void abort_all(const base::Error& error);

    // Every view and order is void.
    void invalidate(const base::Error& error);
    // The node is attached to a controller that ordered none of the groups under way. This
    // controller, or the one before, may not have told all nodes of a group.
    void attached_anew();

    // The view is about to change (prepare), and has changed (commit_view). Static groups follow
    // from the view.
    void prepare(const base::Error& error);
    void commit_view();

    // Reports the static groups that have ended since the last report.
    void report(std::vector<control::GroupReport>& ret_reports);

    bool is_exchanging() const { return !running_.empty(); }
    // In words, what the worker's first request waits for: a group, or something in its exchange.
    std::string awaited(const Worker& worker) const;

    // The trainer of a worker with a ready signal is gone. An order that names the worker may be
    // under way, so its buffers are kept for that.
    void departed(const WorkerPtr& worker);

  private:
    // An exchange whose members here make their buffers while these travel.
    struct Moving {
        control::GroupId group = 0;
        std::shared_ptr<collectives::Progress> progress;
        std::vector<WorkerPtr> members;
    };

    static std::vector<NodeId> nodes_of(const control::GroupOrder& order);
    // A fact that the order says of each of these nodes, in their order.
    static std::vector<uint32_t> of_nodes(const control::GroupOrder& order,
                                          const std::vector<NodeId>& nodes,
                                          uint32_t control::Part::*fact);
    uint64_t number_of(const control::GroupOrder& order) const;
    WorkerPtr claim(const control::Part& part, uint32_t digest);
    bool plan_group(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                    Exchange::Plan& ret_plan) const;
    void log_failure(const control::GroupOrder& order, const Exchange& exchange,
                     const base::Error& error) const;
    void try_again(const std::vector<WorkerPtr>& members, const std::vector<NodeId>& nodes);
    void tell_done(const control::GroupOrder& order, const WorkerPtr& first,
                   const Exchange& exchange, const base::Result<>& result);
    void run(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
             Exchange::Plan plan);
    void ended(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
               Exchange& exchange, const base::Result<>& result);
    void refuse(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                const std::string& reason);
    void forget(const control::GroupOrder& order);
    void tell_refused(const control::GroupOrder& order, const std::string& reason);
    void end_members(const std::vector<WorkerPtr>& members, const base::Error& error);
    void signal(Worker& worker, control::ReadyStage stage);
    Scratch spare_memory();
    bool has_cut(const std::vector<NodeId>& nodes) const;
    void signal_later(const WorkerPtr& worker);
    void ask_again(const WorkerPtr& worker);

    const Worker* awaited(const control::GroupOrder& order, const control::Part& part) const;
    bool is_early(const control::GroupOrder& order) const;
    void hold(const control::GroupOrder& order);
    std::optional<control::GroupOrder> take_held(control::GroupId group);
    bool give_up(control::GroupId group);
    std::vector<control::GroupId> held_with(const Worker& worker) const;
    void give_up_orders_of(const Worker& worker);
    void run_held(const Worker& arrived);

    std::shared_ptr<collectives::Progress> progress_of(const std::vector<WorkerPtr>& members,
                                                       const collectives::Layout& layout) const;
    const Moving* moving_of(const Worker& worker) const;
    void abandon_unmade(const Worker& worker);
    void fall_behind(Worker& worker);
    void catch_up(const WorkerPtr& worker);

    std::string awaited_group(const Worker& worker) const;
    const Exchange* exchange_of(const Worker& worker) const;
    void look_for_unknown();
    void look_later();

    bool are_static() const;
    void begin_all_static();
    void begin_static(const Worker& worker);
    std::vector<WorkerPtr> complete_with(const Worker& worker) const;
    void run_static(const std::vector<WorkerPtr>& members);
    control::GroupId static_group(const std::vector<control::Rank>& ranks, uint64_t turn) const;
    void leave_static();
    void forget_static_of(const Worker& worker);
    void ask_for_view(const std::vector<WorkerPtr>& members);
    void end_unlike(const std::vector<WorkerPtr>& members, NodeId unlike);
    static control::GroupOrder with_iterations(const control::GroupOrder& order,
                                               const Exchange& exchange);
    void note_ended(const control::GroupOrder& order, const std::vector<WorkerPtr>& members,
                    const Exchange& exchange);
    void failed_static(const std::vector<WorkerPtr>& members, const base::Error& error,
                       NodeId unlike);

    // An order whose members here have not all arrived.
    struct Held {
        control::GroupOrder order;
        base::Timer timer;
    };
    struct Departed {
        WorkerPtr worker;
        base::Timer expiry;
    };

    JobState& job_;
    std::map<control::GroupId, Held> held_;
    std::unordered_map<control::GroupId, std::shared_ptr<Exchange>> running_;
    std::vector<Moving> moving_;
    std::vector<Departed> departed_;
    std::vector<Scratch> spare_;
    protocol::StaticGroups static_groups_;
    bool may_begin_static_ = false;
    uint64_t static_epoch_ = 0;  // of the view from which they follow; 0: none
    // The job's token when that view began. A controller that has lost its journal chooses another.
    uint64_t static_token_ = 0;
    EndedGroups ended_static_;
    std::map<control::Rank, base::Timer> pauses_;   // before a worker signals again
    std::vector<std::weak_ptr<Exchange>> earlier_;  // of an earlier attachment's orders
    base::Timer earlier_timer_;
};

}  // namespace pace::daemon
