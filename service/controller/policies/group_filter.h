// GroupFilter: keeps the sync-graph connected by choosing signals that bridge its components
// (partial reduce, section 4, "group frozen avoidance").
//
// The paper leaves two points open. First, the first signal of the queue is always in the group, so
// that bridging starves nobody. Second, when no waiting signal bridges, the filter holds the group
// until one arrives. Signals behind the held group pass it meanwhile, so that a hold delays only P
// workers. A bridging signal that arrives during the hold is still seen. The filter holds at most
// one group per window of T groups, at first for as long as a few arrivals usually take. Each hold
// that brings no bridge doubles the next, up to `group_wait`, until a group bridges again.
// docs/decisions/0007 gives the reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "service/controller/policies/signal_queue.h"
#include "service/controller/policies/sync_graph/sync_graph.h"

namespace pace::controller {

class GroupFilter {
  public:
    GroupFilter(uint32_t world, uint32_t group_size, uint32_t window)
        : window_(window), graph_(world, group_size, window) {}

    // How long a group may be held for a bridge: `first` initially, `most` after doublings. Zero:
    // never.
    struct Patience {
        Duration first{};
        Duration most{};
    };

    // Chooses `size` signals of the line. `size` is at least 1 and at most the line's size. False:
    // the first `size` signals are held until hold_deadline(), or until a bridging signal arrives.
    bool choose(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                TimePoint now, Patience patience, std::vector<Rank>& ret_members);

    // Adds a group that the controller has ordered to the sync-graph.
    void record(std::span<const Rank> members) { graph_.add_group(members); }

    // Ends the digest's hold: its line is no longer long enough for a group.
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
    // The signals of checked_digest_ up to this rank bridged nothing when they were examined.
    Rank checked_ = kNoRank;
    uint32_t checked_digest_ = 0;
    uint64_t next_hold_ = 0;      // least group count before another hold
    uint32_t holds_in_vain_ = 0;  // holds without a bridge since the last bridge
    uint64_t bridged_ = 0;
    std::vector<uint32_t> seen_;  // scratch: component names
    std::vector<Rank> chosen_;    // scratch: members of a bridging group
};

}  // namespace pace::controller
