// CountedTime: a time that grows together with a count; daemons report both in heartbeats. The
// difference of two readings covers whole steps, or calls, and gives their mean, at whatever times
// heartbeats come.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "service/controller/core/members/recent_times.h"

namespace pace::controller {

class CountedTime {
  public:
    // Adds a reading. Returns the mean since the reading before; none if the count is the same. The
    // time before the first reading counts in the total only: in that time a worker loads its data,
    // or waits for the others to start.
    std::optional<base::Duration> tell(uint64_t count, uint64_t total_us) {
        // Another daemon, or a restarted one, counts from zero.
        if (total_us < total_us_) total_us_ = 0;
        if (count < count_) count_ = 0;
        if (count == count_) return std::nullopt;
        const std::chrono::microseconds time(std::min(total_us - total_us_, kMostUs));
        const base::Duration mean = base::Duration(time) / static_cast<int64_t>(std::min<uint64_t>(
                                                               count - count_, kMostUs));
        total_us_ = total_us;
        count_ = count;
        total_s_ += base::to_seconds(time);
        if (!std::exchange(is_told_, true)) return std::nullopt;
        means_.add(mean);
        return mean;
    }

    bool is_told() const { return is_told_; }
    double total_s() const { return total_s_; }
    // 0 if there is none.
    base::Duration last() const { return means_.last(); }
    base::Duration median() const { return means_.median(); }

  private:
    // A bound on daemons' values, so that they fit a Duration.
    static constexpr uint64_t kMostUs = uint64_t{1} << 50U;

    bool is_told_ = false;
    uint64_t count_ = 0;
    uint64_t total_us_ = 0;
    double total_s_ = 0;
    RecentTimes<9> means_;
};

}  // namespace pace::controller
