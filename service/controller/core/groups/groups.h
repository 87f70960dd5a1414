// Groups: turns ready signals into orders, and follows orders to their end, for one job of the
// averaging family. The policy forms the groups, the weight generator weighs them, and the group
// broadcaster (`broadcast`) orders them.
//
// A worker is *exchanging* from the order until its node reports its part done, is told to abort,
// or signals for the worker again. If the worker's process dies, its daemon, which owns the memory,
// completes the exchange.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "service/controller/core/groups/announcements.h"
#include "service/controller/core/groups/auto_policy.h"
#include "service/controller/core/groups/group_history.h"
#include "service/controller/core/groups/group_statistics.h"
#include "service/controller/core/members/worker.h"
#include "service/controller/core/nodes/cluster.h"
#include "service/controller/policies/policy.h"
#include "service/controller/policies/weight_generator.h"
#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

class Groups {
  public:
    // `workers`, indexed by rank, must outlive this object. The policy's random choices derive from
    // `seed`. `zone_of` is not null.
    Groups(JobId job, const JobOptions& options, uint64_t seed, std::vector<Worker>& workers,
           Cluster& cluster, ZoneOf zone_of);

    void add_member(Rank rank, TimePoint now);
    void remove_member(Rank rank);

    // The worker's process is stopped: no group waits for it.
    void freeze(Rank rank);

    // The rank must be a member at the event's node.
    void on_ready(const From<Ready>& event, const Turn& turn);
    void on_withdraw(const From<Withdraw>& event, const Turn& turn);
    void on_done(const From<GroupDone>& event, const Turn& turn);

    // Aborts the groups in flight that need the node, at their other nodes.
    void on_node_lost(NodeId node, const std::string& reason, const Turn& turn);

    // Orders the groups that are due, at most kGroupsPerTurn in one call, so that no event takes
    // long, even if all workers wait, as after a restart. next_deadline() then says that the others
    // are due at once.
    static constexpr uint32_t kGroupsPerTurn = 64;
    void form(uint64_t epoch, const Turn& turn);

    std::optional<TimePoint> next_deadline() const;

    // Whether the daemon has work of the worker in hand; then nobody counts the worker as a
    // straggler.
    bool is_busy(Rank rank) const;

    const GroupPolicy& policy() const { return *policy_; }
    // The choice of a job with policy auto; null for other jobs.
    const AutoPolicy* automatic() const { return auto_ ? &*auto_ : nullptr; }
    // Over all policies that the job has had.
    uint64_t bridged_groups() const { return bridged_before_ + policy_->bridged_groups(); }
    uint64_t conflicts() const { return conflicts_before_ + policy_->conflicts(); }
    const GroupHistory& history() const { return history_; }
    const GroupStatistics& statistics() const { return statistics_; }
    size_t in_flight() const { return slots_of_.size(); }

  private:
    struct InFlight {
        GroupId group = 0;
        TimePoint ordered;
        std::vector<Member> members;
        std::vector<NodeId> nodes;  // whose part is not done yet
        uint64_t moving_ns = 0;     // of the slowest node so far
    };

    void announced(const From<Ready>& event, const Turn& turn);
    bool arrives(const From<Ready>& event, const Turn& turn);
    void signal(const From<Ready>& event, const Turn& turn);
    void expect_announced(const Turn& turn);
    void end_step(Rank rank, TimePoint now);
    void broadcast(uint64_t epoch, const Turn& turn);
    void put_in_flight(const GroupOrder& order, TimePoint now);
    void add_wait(const Signal& signal, TimePoint now);
    void add_exchange(Worker& worker, TimePoint now);
    void release(uint32_t slot, NodeId node, TimePoint now);
    void abort(uint32_t slot, NodeId culprit, const std::string& reason, const Turn& turn);
    void close(uint32_t slot, std::string_view failure, TimePoint now);
    std::string names_of(const std::vector<Member>& members) const;

    void think_again(const Turn& turn);
    std::vector<AutoPolicy::Present> present(TimePoint now) const;
    void change_policy(TimePoint now);

    JobId job_;
    JobOptions options_;
    ZoneOf zone_of_;
    uint64_t seed_;
    std::optional<AutoPolicy> auto_;
    JobOptions in_use_;  // options_ as changed by auto, else the same
    std::unique_ptr<GroupPolicy> policy_;
    TimePoint policy_since_;  // later than the start if the policy has changed
    uint64_t bridged_before_ = 0;
    uint64_t conflicts_before_ = 0;
    std::vector<bool> takes_part_;  // by rank: a member of the policy
    size_t taking_part_ = 0;
    Announcements announcements_;
    std::vector<Worker>& workers_;
    Cluster& cluster_;
    GroupHistory history_;
    GroupStatistics statistics_;
    std::vector<InFlight> slots_;
    std::vector<uint32_t> free_slots_;
    std::unordered_map<GroupId, uint32_t> slots_of_;
    std::optional<TimePoint> more_due_since_;
    std::vector<Signal> signals_;       // scratch of form
    std::vector<uint64_t> iterations_;  // scratch of broadcast
    GroupWeights weights_;              // scratch of broadcast
};

}  // namespace pace::controller
