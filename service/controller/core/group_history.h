// The group history: what groups there were. It keeps the last ones in full for people, with the
// times of each member, the members of the last window of T groups for the spectral gap, and a
// histogram of staleness.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "service/controller/core/types.h"
#include "service/controller/policies/policy.h"

namespace pace::controller {

// A group as status shows it.
struct GroupRecord {
    // A member waited from its signal to the order, and exchanged from there to its end.
    struct Times {
        TimePoint signalled;
        std::optional<TimePoint> ended;  // none: it exchanges
    };

    GroupOrder order;
    std::vector<Times> times;  // of the order's members, one by one
    TimePoint ordered;
    TimePoint ended;  // meaningful once `done`
    bool done = false;
    bool failed = false;
    std::string reason;      // if it failed
    uint64_t moving_ns = 0;  // of its slowest node
    uint64_t bytes = 0;      // of all its nodes
};

class GroupHistory {
  public:
    // Bucket b counts members that were stale by 2^(b-1) .. 2^b - 1 iterations; bucket 0 those that
    // were not.
    static constexpr size_t kStalenessBuckets = 16;
    using Staleness = std::array<uint64_t, kStalenessBuckets>;

    // Members that the recent groups may have together, unless one group alone has more: of large
    // groups fewer are kept.
    static constexpr size_t kMembersMax = 65'536;

    // `recent` groups in full, `window` groups for the spectral gap.
    GroupHistory(uint32_t recent, uint32_t window);

    // From now on so many groups; it begins anew.
    void set_window(uint32_t window);

    // `signals` are those of the order's members, one by one.
    void on_ordered(const GroupOrder& order, std::span<const Signal> signals, TimePoint now);
    // The members at the node, or one member, exchange no more.
    void on_part_ended(GroupId group, NodeId node, TimePoint now);
    void on_member_ended(GroupId group, Rank rank, TimePoint now);
    void on_part_done(GroupId group, uint64_t moving_ns, uint64_t bytes);
    // `failure` says why it failed; empty: it has not.
    void on_ended(GroupId group, std::string_view failure, TimePoint now);
    // Of a group that nobody ordered: `calls` of its members at one node, where the exchange began
    // and ended then. It counts as ordered when the last of all its members had called.
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
    uint64_t first_ = 0;  // the oldest that is kept, counted as groups_ are
    size_t members_ = 0;  // of those kept
    std::vector<GroupRecord> recent_;
    std::vector<std::vector<Rank>> window_;  // members
    uint64_t window_since_ = 0;              // counted as groups_ are
    Staleness staleness_{};
};

}  // namespace pace::controller
