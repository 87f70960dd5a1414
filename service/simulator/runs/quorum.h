// Quorum: rounds of all-reduce that begin when enough workers have called, in virtual time
// (eager-SGD; Li et al., PPoPP 2020).
//
// The rounds work as in the daemons (daemon/partial). One round is always under way. It begins when
// its quorum has called, and sums what all workers have handed in by then. If a worker knows all
// earlier rounds, its call ends with the round under way. If a worker has missed rounds, its call
// ends at once, with what it has missed. A gradient that is handed in while a round's sum is under
// way counts in the next round. A round waits for a worker whose gradient would otherwise become
// older than quorum.staleness_max rounds.
//
// The controller is not asked. The nodes tell each other that the quorum is complete: 2 ceil(log2
// n) messages.
#pragma once

#include "service/simulator/model/scenario.h"
#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

Outcome run_quorum(const Scenario& scenario, const Candidate& candidate);

}  // namespace pace::simulator
