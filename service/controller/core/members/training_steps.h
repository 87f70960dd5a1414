// TrainingSteps: how many steps a worker's trainer has made of how many, as it tells, and how long
// the rest will take.
//
// The time of a step is the median of recent stretches. So a count that jumps once, because the
// worker has taken over a newer model or a checkpoint, does not count as fast training.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "service/controller/core/members/recent_times.h"

namespace pace::controller {

class TrainingSteps {
  public:
    // At the time `at_us`, on the clock of the worker's daemon. A total of 0: nothing was told yet.
    void tell(uint64_t done, uint64_t total, uint64_t at_us) {
        // Another daemon has another clock. A trainer that begins anew counts from its checkpoint.
        const bool begins_anew = total_ == 0 || at_us < at_us_ || done < done_;
        done_ = done;
        total_ = total;
        at_us_ = at_us;
        if (begins_anew) {
            mark(done, at_us);
        } else if (done > mark_done_ && at_us - mark_us_ >= kStretchUs) {
            const uint64_t steps = std::min(done - mark_done_, kMostUs);
            const std::chrono::microseconds time(std::min(at_us - mark_us_, kMostUs));
            steps_.add(base::Duration(time) / static_cast<int64_t>(steps));
            mark(done, at_us);
        }
    }

    bool is_told() const { return total_ != 0; }
    uint64_t done() const { return done_; }
    uint64_t total() const { return total_; }
    // If the rest goes as the last minute or so has gone; none before that is known.
    std::optional<double> left_s() const {
        if (!is_told()) return std::nullopt;
        if (done_ >= total_) return 0.0;
        if (steps_.median().count() == 0) return std::nullopt;
        return static_cast<double>(total_ - done_) * base::to_seconds(steps_.median());
    }

  private:
    // A stretch takes so long at least, and has one step at least.
    static constexpr uint64_t kStretchUs = 2'000'000;
    // What a daemon says stays within what a Duration holds.
    static constexpr uint64_t kMostUs = uint64_t{1} << 50U;

    void mark(uint64_t done, uint64_t at_us) {
        mark_done_ = done;
        mark_us_ = at_us;
    }

    uint64_t done_ = 0;
    uint64_t total_ = 0;
    uint64_t at_us_ = 0;
    uint64_t mark_done_ = 0;  // where the present stretch begins
    uint64_t mark_us_ = 0;
    RecentTimes<31> steps_;
};

}  // namespace pace::controller
