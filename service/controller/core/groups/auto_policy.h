// AutoPolicy: how the groups of a job with policy auto form: the observations, the choice, and the
// time of the next evaluation.
//
// It begins with partial reduce of three. Whenever every present worker has taken a few more steps,
// it forecasts each shape (forecast.h). It changes to the best if the gain is a tenth, twice in a
// row, and waits longer after each change. While speeds and members stay as at the last change,
// only a much larger gain counts. So noise and forecast errors cause one change, and no
// oscillation.
//
// Pure: it reads no clock. Soft state: after a restart of the controller it observes anew.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "service/controller/core/groups/forecast.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class AutoPolicy {
  public:
    explicit AutoPolicy(uint32_t world);

    // A worker that takes part.
    struct Present {
        Rank rank = 0;
        NodeId node = 0;
        // The time so far in the current step; zero if the worker is in no step.
        Duration computing{};
    };

    void on_step(Rank rank, Duration step);
    // Reports the end of a group that was ordered in the current shape. `moving` is zero if
    // unknown.
    void on_exchange(Duration whole, Duration moving);
    // Forgets the rank's steps; another worker may take the rank.
    void forget(Rank rank);

    // Whether an evaluation is due with `present` workers. Cheap.
    bool is_due(size_t present) const { return steps_ >= kStepsBetween * present; }

    // Evaluates the shapes. True if there is news: a new `shape`, or, the first time, a `reason`
    // only.
    bool evaluate(const std::vector<Present>& present);

    const Shape& shape() const { return shape_; }
    const std::string& reason() const { return reason_; }
    uint64_t switches() const { return switches_; }

  private:
    static constexpr uint64_t kStepsBetween = 4;  // per worker, between evaluations
    static constexpr size_t kVariations = 255;

    // A worker's mean step: over about its last 32 steps, or over the steps since its pace changed.
    struct Steps {
        double mean_s = 0;
        uint32_t count = 0;
        // The number of strays in a row: steps above twice the mean, or, negative, below half the
        // mean.
        int32_t strays = 0;
        double stray_s = 0;  // sum of the strays
    };

    std::optional<JobPace> pace_of(const std::vector<Present>& present) const;
    bool is_as_before(const std::vector<Present>& present, const JobPace& pace) const;
    void remember(const std::vector<Present>& present, const JobPace& pace);
    bool change_to(const Shape& best, const JobPace& pace);

    Shape shape_;
    std::string reason_;
    uint64_t switches_ = 0;
    bool has_evaluated_ = false;
    uint64_t steps_ = 0;   // since the last evaluation
    uint32_t better_ = 0;  // evaluations in a row that found a better shape
    uint32_t rest_ = 0;    // evaluations left before a change is allowed
    std::vector<Steps> workers_;
    std::array<double, kVariations> variations_{};
    uint64_t variations_seen_ = 0;
    std::map<Shape, ExchangeTimes> exchanges_;
    uint64_t exchanges_seen_ = 0;       // in the current shape
    std::vector<double> steps_before_;  // by rank, at the last change; 0: was absent
};

}  // namespace pace::controller
