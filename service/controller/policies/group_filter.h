// The group filter: verifies that the next group keeps the sync-graph connected, and if not, takes
// signals that bridge its components (partial reduce, section 4, "group frozen avoidance").
//
// Where we differ from the paper, which is silent: the first signal of the queue is always in the
// group, so that bridging starves nobody; and when no waiting signal bridges, the group is held for
// one. The signals behind it pass meanwhile, so that a hold costs P workers some time and nobody
// else; a bridge that arrives is seen all the same. Groups are held once per window of T groups, at
// first for as long as a few arrivals usually take; each hold in vain doubles the next, up to
// `group_wait`, until something bridges again. docs/decisions/0007 says why.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "service/controller/policies/signal_queue.h"
#include "service/controller/policies/sync_graph.h"

namespace pace::controller {

class GroupFilter {
  public:
    GroupFilter(uint32_t world, uint32_t group_size, uint32_t window)
        : window_(window), graph_(world, group_size, window) {}

    // How long a group may be held for a bridge; zero: not at all.
    struct Patience {
        Duration first{};
        Duration most{};
    };

    // Chooses `size` (at least 1) of the line's signals, which has as many. False: the first `size`
    // are held until hold_deadline(), or until a signal that bridges arrives.
    bool choose(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                TimePoint now, Patience patience, std::vector<Rank>& ret_members);

    // The group was ordered.
    void record(std::span<const Rank> members) { graph_.add_group(members); }

    // The line is no longer long enough for a group: there is nothing to hold.
    void end_hold(uint32_t digest) {
        if (is_holding(digest)) hold_.reset();
    }

    // The rank's signal has left the queue.
    void on_removed(const SignalQueue& queue, Rank rank);

    void set_counted(Rank rank, bool counted) { graph_.set_counted(rank, counted); }
    uint32_t components() const { return graph_.components(); }
    bool is_holding(uint32_t digest) const { return hold_ && hold_->digest == digest; }
    bool is_holding() const { return hold_.has_value(); }
    TimePoint hold_deadline() const { return hold_->since + hold_->wait; }
    uint64_t bridged_groups() const { return bridged_; }

  private:
    struct Hold {
        uint32_t digest = 0;
        TimePoint since;
        Duration wait{};
    };

    bool connect(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                 std::vector<Rank>& ret_members);
    uint32_t components_among(std::span<const Rank> members);
    bool take_bridging(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                       uint32_t spanned, std::vector<Rank>& ret_members);
    Rank first_unchecked(const SignalQueue& queue, const SignalQueue::Line& line) const;
    bool may_begin_hold(Patience patience) const;
    bool hold(const SignalQueue::Line& line, TimePoint now, Patience patience);

    uint32_t window_;
    SyncGraph graph_;
    std::optional<Hold> hold_;
    Rank checked_ = kNoRank;  // signals up to this one bridged nothing when they were looked at
    uint32_t checked_digest_ = 0;  // of whose line
    uint64_t next_hold_ = 0;       // groups that must have entered before another hold
    uint32_t holds_in_vain_ = 0;   // since something bridged
    uint64_t bridged_ = 0;
    std::vector<uint32_t> seen_;  // scratch: names of components
    std::vector<Rank> chosen_;    // scratch: members with bridges
};

}  // namespace pace::controller
