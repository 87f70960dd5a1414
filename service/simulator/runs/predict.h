// Predictions: each policy and group size of a scenario, in a separate simulation.
#pragma once

#include <vector>

#include "base/result.h"
#include "service/simulator/model/scenario.h"
#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

base::Result<Outcome> predict(const Scenario& scenario, const Candidate& candidate);

// Predicts all candidates, on as many threads as there are processors. The results do not depend on
// the number of threads.
base::Result<std::vector<Prediction>> predict_all(const Scenario& scenario);

}  // namespace pace::simulator
