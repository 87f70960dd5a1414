// All-reduce in virtual time: everyone's step, then one exchange of all. Its rounds need no controller, once the job has
// begun (docs/decisions/0002-rounds-without-the-controller.md).
#pragma once

#include "service/simulator/outcome.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

// A round takes the longest of its steps and the exchange, compressed as the candidate has it. Its quorum is all.
Outcome run_all_reduce(const Scenario& scenario, const Candidate& candidate);

}  // namespace pace::simulator
