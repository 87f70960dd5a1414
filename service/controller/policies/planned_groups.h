// PlannedGroups: the common part of Prague's policies (Luo et al., ASPLOS 2020), where groups are
// named before their members arrive.
//
// A worker that signals takes the first group of its *group buffer* (section 5.1). If the buffer is
// empty, the policy plans groups, at least one of them with that worker. A group runs when each of
// its members waits and has the group at the front of its buffer. All buffers hold their groups in
// the order in which the groups were planned, so that the oldest group is at the front for all its
// members. Hence groups are atomic, disjoint groups run at once, and nobody waits in a circle,
// whatever the policy plans.
//
// A worker that is dead, suspended or *frozen* (has not signalled for ten median steps and at least
// a second), or that takes its signal back, leaves its groups. If one member of a group is left,
// the policy plans a new group for that member.
//
// If members of a group average different buffers, the group runs as one group per digest.
//
// A group is in *conflict* if a member is elsewhere when the first member begins to wait with the
// group at the front of its buffer. A member is elsewhere if it exchanges in another group or has
// an older group at the front. A conflict cannot begin later, since a group stays at the front
// until it runs. So each group is examined once, and counted at most once. A member that only
// computes is a straggler, which is no conflict. Nor is a member whose exchange in the group that
// the first member has just left is not yet reported done.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "service/controller/policies/group_wait.h"
#include "service/controller/policies/policy.h"
#include "service/controller/policies/sync_graph/sync_graph.h"

namespace pace::controller {

class PlannedGroups : public GroupPolicy {
  public:
    void add_member(Rank rank, NodeId node, TimePoint now) override;
    void know_step(Duration step) override { wait_.on_step(step); }
    void remove_member(Rank rank) override;
    void freeze(Rank rank) override;
    Received add_signal(const Signal& signal) override;
    bool withdraw(Rank rank, TimePoint now) override;
    void release(Rank rank, TimePoint now) override;
    bool next_group(TimePoint now, std::vector<Signal>& ret_group) override;
    std::optional<TimePoint> next_deadline() const override;
    bool is_waiting(Rank rank) const override {
        return at(rank).phase == Phase::waiting || at(rank).phase == Phase::due;
    }
    bool is_frozen(Rank rank) const override { return at(rank).frozen; }
    uint64_t bridged_groups() const override { return 0; }
    uint64_t conflicts() const override { return conflicts_; }
    PolicyView view() const override;

  protected:
    // Takes options as check() returns them.
    explicit PlannedGroups(const JobOptions& options);

    // Called when the worker waits and is in no group. Calls add_plan() at least once with the
    // worker.
    virtual void plan(Rank requester) = 0;

    // Names a group. Each worker may be in it at most once.
    void add_plan(std::vector<Rank> members);

    // The last `most` named groups that do not run yet, latest first. A worker in no group may join
    // one.
    using PlanId = uint64_t;
    std::vector<PlanId> latest_plans(size_t most) const;
    std::span<const Rank> members_of(PlanId id) const { return plans_.at(id).members; }
    void join_plan(PlanId id, Rank rank);

    // Members that are not frozen, in no order.
    std::span<const Rank> eligible() const { return eligible_; }
    bool is_eligible(Rank rank) const;
    bool has_plan(Rank rank) const { return !at(rank).buffer.empty(); }
    NodeId node_of(Rank rank) const { return at(rank).node; }
    // How many times the worker has signalled. A new worker starts with the average of the others,
    // so that it does not count as late.
    uint64_t requests(Rank rank) const { return at(rank).requests; }
    uint32_t group_size() const { return group_size_; }

  private:
    struct Plan {
        std::vector<Rank> members;
        // A member waits, or has waited, with this group at the front.
        bool is_awaited = false;
    };
    // due: the worker's group may run, and is in ready_.
    enum class Phase : uint8_t { absent, computing, waiting, due, exchanging };
    struct Member {
        Phase phase = Phase::absent;
        bool frozen = false;
        bool has_exchanged = false;  // `since` is the end of an exchange
        NodeId node = 0;
        TimePoint since;
        Signal signal;
        std::optional<uint32_t> digest;  // of its last signal
        uint64_t requests = 0;
        std::deque<PlanId> buffer;
        PlanId last = 0;   // the last group that ran with this worker
        size_t place = 0;  // index in eligible_
    };

    Member& at(Rank rank) { return members_[rank]; }
    const Member& at(Rank rank) const { return members_[rank]; }
    void make_eligible(Rank rank);
    void make_ineligible(Rank rank);
    void begin_computing(Rank rank, TimePoint now);
    void end_computing(Rank rank);
    void freeze_silent(TimePoint now);
    void provide(Rank rank);
    void leave_plans(Rank rank);
    void leave_plan(PlanId id, Rank rank);
    void leave_ready(Rank rank);
    void check(PlanId id);
    void note_conflict(PlanId id, Rank first);
    bool is_elsewhere(Rank rank, PlanId id, Rank first) const;
    void take(PlanId id);
    void record(std::span<const Rank> members);
    bool note_digest(const Signal& signal);
    void forget_digest(Member& member);

    uint32_t group_size_;
    SyncGraph graph_;
    GroupWait wait_;
    std::vector<Member> members_;
    uint64_t present_ = 0;
    uint64_t requests_of_all_ = 0;
    std::vector<Rank> eligible_;
    std::set<std::pair<TimePoint, Rank>> computing_;  // not frozen, by start
    std::map<PlanId, Plan> plans_;
    PlanId next_plan_ = 1;
    uint64_t conflicts_ = 0;
    std::deque<std::vector<Rank>> ready_;   // groups to run, one digest each
    std::map<uint32_t, uint32_t> digests_;  // digest -> number of members
};

}  // namespace pace::controller
