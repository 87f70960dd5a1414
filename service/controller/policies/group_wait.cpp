#include "service/controller/policies/group_wait.h"

#include <algorithm>
#include <cmath>

namespace pace::controller {
namespace {

// Guesses for a job without measurements: its first step may compile kernels or read a data set.
constexpr Duration kWaitAtFirst = std::chrono::seconds(1);
constexpr Duration kFrozenAtFirst = std::chrono::seconds(30);

constexpr int kStepsMax = 10;

}  // namespace

void GroupWait::on_arrival(TimePoint now) {
    if (arrivals_ != 0) {
        const auto gap = static_cast<double>((now - since_).count());
        const double error = gap - gap_mean_ns_;
        if (arrivals_ == 1) {
            gap_mean_ns_ = gap;
            gap_deviation_ns_ = gap / 2;
        } else {
            gap_mean_ns_ += error / 8;
            gap_deviation_ns_ += (std::abs(error) - gap_deviation_ns_) / 4;
        }
    }
    arrivals_ = std::min(arrivals_ + 1, kArrivalsBeforeTrust);
    since_ = now;
}

void GroupWait::on_step(Duration step) {
    steps_[steps_seen_ % kSteps] = step;
    ++steps_seen_;
    if (steps_seen_ > kRefresh && steps_seen_ % kRefresh != 0) return;
    std::array<Duration, kSteps> sorted = steps_;
    const auto count = static_cast<std::ptrdiff_t>(std::min(steps_seen_, kSteps));
    std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.begin() + count);
    median_step_ = sorted[static_cast<size_t>(count / 2)];
}

Duration GroupWait::wait() const {
    if (fixed_.count() != 0) return fixed_;
    const Duration most = kStepsMax * median_step_;
    if (!is_learnt()) return steps_seen_ == 0 ? kWaitAtFirst : std::min(kWaitAtFirst, most);
    return std::max(learnt(), median_step_ / 2);
}

Duration GroupWait::usual() const {
    return is_learnt() ? std::min(learnt(), wait()) : wait();
}

Duration GroupWait::learnt() const {
    // Two deviations: a guess that balances full groups against waiting for the slowest worker.
    const double ns = group_size_ * (gap_mean_ns_ + 2 * gap_deviation_ns_);
    const Duration most = kStepsMax * median_step_;
    if (ns >= static_cast<double>(most.count())) return most;
    return Duration(static_cast<int64_t>(ns));
}

Duration GroupWait::frozen_after() const {
    if (steps_seen_ == 0) return kFrozenAtFirst;
    return std::max<Duration>(kStepsMax * median_step_, std::chrono::seconds(1));
}

}  // namespace pace::controller
