// Predictions: every policy and group size that a scenario asks for, each in a simulation of its own.
#pragma once

#include <vector>

#include "base/result.h"
#include "service/simulator/outcome.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

base::Result<Outcome> predict(const Scenario& scenario, const Candidate& candidate);

// All candidates, on as many threads as there are processors; what comes out does not depend on
// how many those are.
base::Result<std::vector<Prediction>> predict_all(const Scenario& scenario);

}  // namespace pace::simulator
