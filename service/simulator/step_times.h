// StepTimes: the steps that each worker will take, the same ones whatever the policy, so that policies are compared on
// one and the same course of events.
#pragma once

#include <vector>

#include "base/random.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

class StepTimes {
  public:
    // `scenario` outlives this.
    explicit StepTimes(const Scenario& scenario) : scenario_(scenario) {
        base::Random seeds(scenario.seed);
        for (size_t rank = 0; rank < scenario.workers.size(); ++rank)
            randoms_.emplace_back(seeds.next());
    }

    // The worker's next step, in seconds.
    double next_s(controller::Rank rank) {
        const Worker& worker = scenario_.workers[rank];
        return worker.slow * draw_s(scenario_.distributions[worker.distribution], randoms_[rank]);
    }

  private:
    const Scenario& scenario_;
    std::vector<base::Random> randoms_;
};

}  // namespace pace::simulator
