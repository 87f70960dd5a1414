// AutoPolicy: how the groups of a job with policy auto form: what it has observed, what it has chosen, and when to think again.
//
// It begins with partial reduce of three. Whenever every present worker has taken a few steps more it forecasts what each shape
// would make (forecast.h), and changes to the best if that is worth a tenth more than the one in use, twice in a row. After each
// change it waits longer before the next. As long as speeds and members stay what they were at the last change, only what is
// worth far more will do: so noise, and errors of the forecast, move it once and not to and fro.
//
// Pure: it reads no clock. Soft state: after a restart of the controller it observes anew.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "service/controller/core/forecast.h"
#include "service/controller/core/types.h"

namespace pace::controller {

class AutoPolicy {
  public:
    explicit AutoPolicy(uint32_t world);

    // A present worker.
    struct Present {
        Rank rank = 0;
        NodeId node = 0;
        Duration computing{};  // so far, in the step it is at; zero: it is at none
    };

    void on_step(Rank rank, Duration step);
    // A group that was ordered in the shape in use has ended. `moving`: zero if it is not known.
    void on_exchange(Duration whole, Duration moving);
    // Another worker may take its place.
    void forget(Rank rank);

    // Whether it is time to think again, with so many present: cheap.
    bool is_due(size_t present) const { return steps_ >= kStepsBetween * present; }

    // Thinks again. True if there is news: `shape`, or, the first time, only `reason`.
    bool evaluate(const std::vector<Present>& present);

    const Shape& shape() const { return shape_; }
    const std::string& reason() const { return reason_; }
    uint64_t switches() const { return switches_; }

  private:
    static constexpr uint64_t kStepsBetween = 4;  // of each worker, from evaluation to evaluation
    static constexpr size_t kVariations = 255;

    // A worker's mean step: of its last 32 or so, or, if it has become another, of those since.
    struct Steps {
        double mean_s = 0;
        uint32_t count = 0;
        int32_t strays = 0;  // in a row: more than twice the mean, or, negative, less than half
        double stray_s = 0;  // their sum
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
    uint32_t better_ = 0;  // evaluations in a row that found something better
    uint32_t rest_ = 0;    // evaluations that have still to pass before a change
    std::vector<Steps> workers_;
    std::array<double, kVariations> variations_{};
    uint64_t variations_seen_ = 0;
    std::map<Shape, ExchangeTimes> exchanges_;
    uint64_t exchanges_seen_ = 0;       // of the shape in use
    std::vector<double> steps_before_;  // by rank, at the last change; 0: was not there
};

}  // namespace pace::controller
