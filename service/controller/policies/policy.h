// GroupPolicy: how the groups of one job form. Each policy of the averaging family has one
// implementation. The all-reduce policy needs no groups and has none.
//
// The job reports its members, their signals and the ends of their exchanges; the policy answers
// with groups. The policy is pure: the caller passes the time, which never goes back. One job owns
// one policy and calls the policy from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// A worker's ready signal (Algorithm 2, line 5 of the worker).
struct Signal {
    Rank rank = 0;
    uint32_t digest = 0;  // of the buffers; a group has one digest
    uint64_t iteration = 0;
    TimePoint arrived;
};

// The state of a policy for status displays.
struct PolicyView {
    // A named group that does not run yet, since some of its members have not signalled for it.
    struct Incomplete {
        std::vector<Rank> waiting;
        std::vector<Rank> missing;
    };
    std::vector<Signal> waiting;  // by digest, each in order of arrival
    std::vector<Incomplete> incomplete;
    bool names_groups = false;  // before their members have signalled
    Duration group_wait{};
    Duration median_step{};
    uint32_t components = 0;  // of the sync-graph of the recent groups
    uint32_t counted = 0;     // members that are not frozen
    bool holding = false;     // a group is held for a bridge
};

class GroupPolicy {
  public:
    virtual ~GroupPolicy() = default;

    // The worker takes part from now on. Adding a member twice changes nothing.
    virtual void add_member(Rank rank, NodeId node, TimePoint now) = 0;

    // Reports the length of a worker's step from before this policy took over.
    virtual void know_step(Duration step) = 0;

    // The worker is dead, gone or suspended: its signal is withdrawn and nothing waits for it.
    virtual void remove_member(Rank rank) = 0;

    // The worker's process is stopped. While the worker computes, nothing waits for it until it
    // signals.
    virtual void freeze(Rank rank) = 0;

    // What became of a signal. `stray`: queued, but its digest is new for the worker, and most
    // members use another. This is worth a warning, since only workers of the same digest will
    // average with it. `refused`: the rank is no member or already waits; nothing has changed.
    enum class Received : uint8_t { queued, stray, refused };

    // A member is ready. If the member was exchanging, the signal implies that the exchange is
    // over.
    virtual Received add_signal(const Signal& signal) = 0;

    // False if the worker was not waiting.
    virtual bool withdraw(Rank rank, TimePoint now) = 0;

    // The worker's exchange has ended; the worker computes again.
    virtual void release(Rank rank, TimePoint now) = 0;

    // Takes the next group off the queue, in order of arrival. False if none is due. Call it until
    // it returns false.
    virtual bool next_group(TimePoint now, std::vector<Signal>& ret_group) = 0;

    // When to call next_group again if nothing else happens.
    virtual std::optional<TimePoint> next_deadline() const = 0;

    virtual bool is_waiting(Rank rank) const = 0;
    virtual bool is_frozen(Rank rank) const = 0;
    virtual uint64_t bridged_groups() const = 0;

    // Groups that had to wait for another group because they share a member. Always 0 for policies
    // that form groups from waiting workers.
    virtual uint64_t conflicts() const = 0;

    virtual PolicyView view() const = 0;
};

// Returns the number of the zone that a node is in now, 0 if unknown. Called when groups are
// planned.
using ZoneOf = std::function<uint32_t(NodeId)>;

// Creates the policy that the (checked) options name. Null for a policy without groups, and for
// auto. All random choices derive from `seed`. Without `zone_of` no zone is known.
std::unique_ptr<GroupPolicy> make_policy(const JobOptions& options, uint64_t seed,
                                         ZoneOf zone_of = {});

}  // namespace pace::controller
