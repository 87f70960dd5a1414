// Meter: turns finished updates into an Outcome. It lets a warm-up pass, and then measures.
#pragma once

#include <vector>

#include "base/clock.h"
#include "service/controller/vocabulary/types.h"
#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

using base::Duration;
using base::TimePoint;

// One worker's update that has ended, because its exchange is over.
struct Update {
    controller::Rank rank = 0;
    TimePoint ended;
    Duration computing{};
    Duration waiting{};
    Duration exchanging{};
    bool had_conflict = false;
    uint64_t staleness = 0;
    double distance = 0;  // see Disagreement
};

class Meter {
  public:
    // Measures `steps` updates of the average worker.
    Meter(uint32_t workers, uint32_t steps, TimePoint start);

    void add(const Update& update);

    // Adds a group whose members' updates end now.
    void add_group(std::vector<controller::Rank> members);

    // Whether the warm-up is over.
    bool is_measuring() const { return updates_ >= warm_; }

    bool is_full() const { return updates_ >= warm_ + measured_; }

    // Returns the outcome. Called only when the meter is full.
    Outcome outcome() const;

    // Returns the outcome of workers that all share one model, after `groups` measured rounds or
    // pushes.
    Outcome outcome_of_one_model(uint64_t groups) const;

  private:
    struct WorkerTimes {
        TimePoint before;  // the end of its last update before the measured ones
        TimePoint last;
        uint64_t updates = 0;
    };

    Outcome times() const;
    std::vector<double> update_times_s() const;

    uint64_t warm_;
    uint64_t measured_;
    uint64_t updates_ = 0;
    TimePoint begun_;  // the start of the measured updates
    TimePoint now_;
    std::vector<WorkerTimes> workers_;
    std::vector<std::vector<controller::Rank>> groups_;
    Duration computing_{};
    Duration waiting_{};
    Duration exchanging_{};
    uint64_t conflicts_ = 0;
    uint64_t staleness_ = 0;
    double distance_ = 0;
};

}  // namespace pace::simulator
