// Quorum: rounds of all-reduce that begin when some have called, in virtual time (eager-SGD; Li et al., PPoPP 2020).
//
// As the daemons have it (daemon/partial): one round is always under way. It begins when its quorum has called, and sums what all have
// handed in by then. A call of a worker that knows all rounds so far ends with the round under way. One of a worker that has missed
// rounds ends at once, with what it has missed. A gradient that is handed in while a round's sum is on its way counts in the next one. A
// worker without which a gradient would become older than quorum.staleness_max rounds holds up the round.
//
// The controller is asked for nothing. That the quorum is there the nodes tell each other: 2 ceil(log2 n) messages.
#pragma once

#include "service/simulator/outcome.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

Outcome run_quorum(const Scenario& scenario, const Candidate& candidate);

}  // namespace pace::simulator
