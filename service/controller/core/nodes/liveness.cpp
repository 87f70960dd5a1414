#include "service/controller/core/nodes/liveness.h"

#include <algorithm>
#include <cmath>

namespace pace::controller {
namespace {

// A burst of signals says nothing about the heartbeat that keeps an idle node alive.
constexpr Duration kBurst = std::chrono::milliseconds(10);
constexpr uint32_t kGapsBeforeTrust = 8;

}  // namespace

void Liveness::on_heard(TimePoint now) {
    const Duration gap = now - heard_;
    heard_ = now;
    if (gap < kBurst) return;
    const auto ns = static_cast<double>(gap.count());
    if (gaps_ == 0) {
        mean_ns_ = ns;
        deviation_ns_ = ns / 2;
    } else {
        const double error = ns - mean_ns_;
        mean_ns_ += error / 8;
        deviation_ns_ += (std::abs(error) - deviation_ns_) / 4;
    }
    gaps_ = std::min(gaps_ + 1, kGapsBeforeTrust);
}

// Four missed messages and eight deviations: a guess that tolerates a loaded machine.
Duration Liveness::patience() const {
    if (gaps_ < kGapsBeforeTrust) return most_;
    const double usual_ns = 4 * mean_ns_ + 8 * deviation_ns_;
    if (usual_ns >= static_cast<double>(most_.count())) return most_;
    return std::max(least_, Duration(static_cast<int64_t>(usual_ns)));
}

}  // namespace pace::controller
