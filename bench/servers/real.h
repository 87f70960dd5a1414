// The Simulation's training with real daemons, by sessions of this process. A step lasts step_ms,
// mostly asleep, so that many workers fit on a small machine. Pushes and pulls take their real
// time.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "simulation.h"

namespace pace::bench {

struct RealOptions {
    std::vector<std::string> endpoints;  // of the daemons; the workers are spread over them
    double step_ms = 500;
};

// Times are in steps, as in the simulation. The target ends no training: all workers train until
// `options.until`.
base::Result<Outcome> train(const DataSet& data, const SimulationOptions& options,
                            const RealOptions& real);

}  // namespace pace::bench
