// Outcome: how a job ran under one candidate.
#pragma once

#include <cstdint>

#include "service/simulator/model/candidate.h"

namespace pace::simulator {

// An update is one step and the exchange after it, from one worker's view.
struct Outcome {
    uint64_t updates = 0;        // measured updates of all workers
    uint64_t groups = 0;         // measured groups; for all-reduce, rounds
    double updates_per_s = 0;    // of all workers together
    double update_median_s = 0;  // time between updates: the mean of the median worker
    double update_slowest_s = 0;
    double waiting_share = 0;     // of the workers' time: from the signal to the exchange's begin
    double exchanging_share = 0;  // of the workers' time: from the exchange's begin to its end
    uint64_t conflicts = 0;  // updates whose worker waited while a member was in an earlier group
    double staleness = 0;    // iterations behind the newest member of the group, on average
    double rho = 0;          // spectral gap of the groups: the second eigenvalue of E[W]
    double spread = 0;       // of models, in units of one update's variance; see disagreement.h

    // Updates per second, with each counted as 1 / (1 + spread).
    double effective_per_s() const { return updates_per_s / (1 + spread); }
};

struct Prediction {
    Candidate candidate;
    Outcome outcome;
};

}  // namespace pace::simulator
