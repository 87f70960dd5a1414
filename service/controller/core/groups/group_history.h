// Group history: the past groups of a job. It keeps the last groups in full for people, with the
// times of each member, the members of the last window of T groups for the spectral gap, and a
// histogram of staleness.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "service/controller/policies/policy.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// A group as status shows it.
struct GroupRecord {
    // A member waits from its signal to the order, and exchanges from the order to `ended`.
    struct Times {
        TimePoint signalled;
        std::optional<TimePoint> ended;  // none: still exchanging
    };

    GroupOrder order;
    std::vector<Times> times;  // in the order of the order's members
    TimePoint ordered;
    TimePoint ended;  // valid if `done`
    bool done = false;
    bool failed = false;
    std::string reason;      // of a failed group
    uint64_t moving_ns = 0;  // of its slowest node
    uint64_t bytes = 0;      // of all its nodes
};

class GroupHistory {
  public:
    // Bucket b counts members that were 2^(b-1) .. 2^b - 1 iterations stale; bucket 0 counts those
    // that were not stale.
    static constexpr size_t kStalenessBuckets = 16;
    using Staleness = std::array<uint64_t, kStalenessBuckets>;

    // The most members of all recent groups together, unless a single group has more. If groups are
    // large, fewer are kept.
    static constexpr size_t kMembersMax = 65'536;

    // Keeps `recent` groups in full, and `window` groups for the spectral gap.
    GroupHistory(uint32_t recent, uint32_t window);

    // Sets the window to `window` groups and starts the window anew.
    void set_window(uint32_t window);

    // `signals` are those of the order's members, in their order.
    void on_ordered(const GroupOrder& order, std::span<const Signal> signals, TimePoint now);
    // The members at the node, or one member, have ended their exchange.
    void on_part_ended(GroupId group, NodeId node, TimePoint now);
    void on_member_ended(GroupId group, Rank rank, TimePoint now);
    void on_part_done(GroupId group, uint64_t moving_ns, uint64_t bytes);
    // `failure` is the reason if the group failed, or empty.
    void on_ended(GroupId group, std::string_view failure, TimePoint now);
    // Records one node's part of a group that nobody ordered: `calls` of the members there, and
    // when their exchange began and ended. The group counts as ordered when the last of all its
    // members had called.
    void on_part_told(GroupId group, std::span<const Signal> calls, TimePoint begun,
                      TimePoint ended);

    // Oldest first.
    std::vector<GroupRecord> recent() const;
    std::vector<std::vector<Rank>> window() const;
    const Staleness& staleness() const { return staleness_; }

  private:
    GroupRecord& next_record();
    void forget_excess();
    GroupRecord* find(GroupId group);
    static GroupRecord::Times* times_of(GroupRecord& record, Rank rank);

    size_t recent_max_;
    uint64_t groups_ = 0;
    uint64_t first_ = 0;  // number of the oldest kept, as in groups_
    size_t members_ = 0;  // of the groups kept
    std::vector<GroupRecord> recent_;
    std::vector<std::vector<Rank>> window_;  // members of each
    uint64_t window_since_ = 0;              // as in groups_
    Staleness staleness_{};
};

}  // namespace pace::controller
