// All-reduce in virtual time: each worker's step, then one exchange of all workers. Once the job
// has begun, the rounds need no controller (docs/decisions/0002-rounds-without-the-controller.md).
#pragma once

#include "service/simulator/model/scenario.h"
#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

// A round takes the longest of its steps, and then the exchange with the candidate's compression.
// The quorum is all.
Outcome run_all_reduce(const Scenario& scenario, const Candidate& candidate);

}  // namespace pace::simulator
