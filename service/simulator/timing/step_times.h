// StepTimes: the steps that each worker takes. They are the same for every policy, so policies are
// compared on the same steps.
#pragma once

#include <vector>

#include "base/random.h"
#include "service/simulator/model/scenario.h"

namespace pace::simulator {

class StepTimes {
  public:
    // `scenario` must outlive this object.
    explicit StepTimes(const Scenario& scenario) : scenario_(scenario) {
        base::Random seeds(scenario.seed);
        for (size_t rank = 0; rank < scenario.workers.size(); ++rank)
            randoms_.emplace_back(seeds.next());
    }

    // Returns the worker's next step in seconds.
    double next_s(controller::Rank rank) {
        const Worker& worker = scenario_.workers[rank];
        return worker.slow * draw_s(scenario_.distributions[worker.distribution], randoms_[rank]);
    }

  private:
    const Scenario& scenario_;
    std::vector<base::Random> randoms_;
};

}  // namespace pace::simulator
