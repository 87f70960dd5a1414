// PlannedGroups: what the policies of Prague (Luo et al., ASPLOS 2020) have in common: groups that are named before their
// members have arrived.
//
// A worker that signals takes the first group of its *group buffer* (section 5.1); if that is empty, the policy plans
// groups, at least one of them with that worker. A group runs when each of its members waits and has it in front. All
// buffers hold their groups in the one order in which they were planned, so that the oldest group is
// in front of all its members: groups are atomic, disjoint ones run at once, and nobody waits in a circle, whatever is
// planned.
//
// Whoever is dead, suspended, or *frozen* (has not signalled for ten median steps and a second) leaves its groups, and
// so does one that takes its signal back. A group of which one member is left is planned anew for that one.
//
// Members of a group that average different buffers are as many groups.
//
// A group is in *conflict* if, when the first of its members comes to wait for it (waits, with it in front), another one is
// still in another group: exchanges in one, or has an older one in front. Later that cannot begin, since a group in front
// stays there until it runs, so that a group is looked at once, and counted at most once. A member that only computes is a
// straggler, no conflict; one whose exchange in the very group that the first has left is not reported done yet is neither.
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
#include "service/controller/policies/sync_graph.h"

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
    // Options as check() returns them.
    explicit PlannedGroups(const JobOptions& options);

    // The worker waits and is in no group: calls add_plan() at least once with it.
    virtual void plan(Rank requester) = 0;

    // Names a group; each worker at most once.
    void add_plan(std::vector<Rank> members);

    // The groups that were named last, of those that do not run yet; the latest first. One that is in no group may join.
    using PlanId = uint64_t;
    std::vector<PlanId> latest_plans(size_t most) const;
    std::span<const Rank> members_of(PlanId id) const { return plans_.at(id).members; }
    void join_plan(PlanId id, Rank rank);

    // Members that are not frozen, in no order.
    std::span<const Rank> eligible() const { return eligible_; }
    bool is_eligible(Rank rank) const;
    bool has_plan(Rank rank) const { return !at(rank).buffer.empty(); }
    NodeId node_of(Rank rank) const { return at(rank).node; }
    // How many times it has signalled. A newcomer begins with what the others have on average: it is not late.
    uint64_t requests(Rank rank) const { return at(rank).requests; }
    uint32_t group_size() const { return group_size_; }

  private:
    struct Plan {
        std::vector<Rank> members;
        bool is_awaited = false;  // a member waits, or has waited, with it in front
    };
    // due: its group may run, and is in ready_.
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
        PlanId last = 0;   // the group that ran last with it
        size_t place = 0;  // in eligible_
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
    std::set<std::pair<TimePoint, Rank>> computing_;  // not frozen, by when they began
    std::map<PlanId, Plan> plans_;
    PlanId next_plan_ = 1;
    uint64_t conflicts_ = 0;
    std::deque<std::vector<Rank>> ready_;   // groups to run, of one kind of buffers each
    std::map<uint32_t, uint32_t> digests_;  // how many members have each
};

}  // namespace pace::controller
