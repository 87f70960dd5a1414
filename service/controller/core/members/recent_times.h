// RecentTimes: the last durations of some activity, and the sum of all.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace pace::controller {

template <size_t kKept>
class RecentTimes {
  public:
    void add(base::Duration time) {
        times_[seen_ % kKept] = time;
        ++seen_;
        total_s_ += base::to_seconds(time);
    }

    // 0 if there is none.
    base::Duration last() const {
        return seen_ == 0 ? base::Duration{} : times_[(seen_ - 1) % kKept];
    }
    // The median of the durations kept.
    base::Duration median() const {
        if (seen_ == 0) return {};
        std::array<base::Duration, kKept> sorted = times_;
        const auto count = static_cast<std::ptrdiff_t>(std::min<uint64_t>(seen_, kKept));
        std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.begin() + count);
        return sorted[static_cast<size_t>(count / 2)];
    }
    double total_s() const { return total_s_; }

  private:
    std::array<base::Duration, kKept> times_{};
    uint64_t seen_ = 0;
    double total_s_ = 0;
};

}  // namespace pace::controller
