// The group history: what groups there were. It keeps the last ones in full for people, the members
// of the last window of T groups for the spectral gap, and a histogram of staleness.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

// A group as status shows it.
struct GroupRecord {
    GroupOrder order;
    TimePoint ordered;
    TimePoint ended;  // meaningful once `done`
    bool done = false;
    bool failed = false;
    uint64_t moving_ns = 0;  // of its slowest node
    uint64_t bytes = 0;      // of all its nodes
};

class GroupHistory {
  public:
    // Bucket b counts members that were stale by 2^(b-1) .. 2^b - 1 iterations; bucket 0 those that
    // were not.
    static constexpr size_t kStalenessBuckets = 16;
    using Staleness = std::array<uint64_t, kStalenessBuckets>;

    // `recent` groups in full, `window` groups for the spectral gap.
    GroupHistory(uint32_t recent, uint32_t window);

    void on_ordered(const GroupOrder& order, TimePoint now);
    void on_part_done(GroupId group, uint64_t moving_ns, uint64_t bytes);
    void on_ended(GroupId group, bool failed, TimePoint now);

    // Oldest first.
    std::vector<GroupRecord> recent() const;
    std::vector<std::vector<Rank>> window() const;
    const Staleness& staleness() const { return staleness_; }

  private:
    GroupRecord* find(GroupId group);

    uint64_t groups_ = 0;
    std::vector<GroupRecord> recent_;
    std::vector<std::vector<Rank>> window_;  // members
    Staleness staleness_{};
};

}  // namespace pace::controller
