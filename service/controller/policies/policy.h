// GroupPolicy: how the groups of one job form. One implementation per policy of the averaging
// family; the all-reduce policy needs no groups and has none.
//
// The job tells who its members are, who has signalled and whose exchange has ended; the policy
// answers with groups. It is pure: time is handed in and never goes back. One job owns one policy
// and calls it from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

// A worker's ready signal (Algorithm 2, line 5 of the worker).
struct Signal {
    Rank rank = 0;
    uint32_t digest = 0;  // of the buffers; a group mixes no digests
    uint64_t iteration = 0;
    TimePoint arrived;
};

// What status displays read of a policy.
struct PolicyView {
    // A group that is named and does not run, since only some of its members have come to it.
    struct Incomplete {
        std::vector<Rank> waiting;
        std::vector<Rank> missing;
    };
    std::vector<Signal> waiting;  // in the order of arrival, digest by digest
    std::vector<Incomplete> incomplete;
    bool names_groups = false;  // before their members have come
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

    // A worker's step took so long before this policy took over.
    virtual void know_step(Duration step) = 0;

    // The worker is dead, gone or suspended: its signal is withdrawn and nothing waits for it.
    virtual void remove_member(Rank rank) = 0;

    // Its process is stopped: while it computes, nothing waits for it until it signals.
    virtual void freeze(Rank rank) = 0;

    // What became of a signal. `stray`: queued, but its digest is news and not that of most members,
    // which is worth a warning, since only its own kind will average with it. `refused`: the rank is
    // no member or waits already; nothing has changed.
    enum class Received : uint8_t { queued, stray, refused };

    // A member is ready. Of one that is exchanging it implies that the exchange is over.
    virtual Received add_signal(const Signal& signal) = 0;

    // False if the worker was not waiting.
    virtual bool withdraw(Rank rank, TimePoint now) = 0;

    // The worker's exchange has ended; it computes again.
    virtual void release(Rank rank, TimePoint now) = 0;

    // Takes the next group off the queue, in order of arrival. False if none is due; call until
    // then.
    virtual bool next_group(TimePoint now, std::vector<Signal>& ret_group) = 0;

    // When next_group should be asked again if nothing else happens.
    virtual std::optional<TimePoint> next_deadline() const = 0;

    virtual bool is_waiting(Rank rank) const = 0;
    virtual bool is_frozen(Rank rank) const = 0;
    virtual uint64_t bridged_groups() const = 0;

    // Groups that had to wait for another group, since they share a member with it. Always 0 where
    // groups form of those who wait.
    virtual uint64_t conflicts() const = 0;

    virtual PolicyView view() const = 0;
};

// The number of the zone that a node lies in at present, 0 if none is known. Asked when groups are planned.
using ZoneOf = std::function<uint32_t(NodeId)>;

// The policy that the (checked) options name; null for a policy without groups, and for auto. What it draws at
// random, it draws from `seed`. Without `zone_of` no zone is known.
std::unique_ptr<GroupPolicy> make_policy(const JobOptions& options, uint64_t seed,
                                         ZoneOf zone_of = {});

}  // namespace pace::controller
