// The same training as the Simulation's, by sessions of this process with real daemons. A step lasts step_ms, mostly asleep, so that
// many workers fit on a small machine; pushes and pulls take what they take.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "simulation.h"

namespace pace::bench {

struct RealOptions {
    std::vector<std::string> endpoints;  // of the daemons; workers are spread over them
    double step_ms = 500;
};

// Times are in steps, as the simulation's. The target ends nothing: all workers train until `options.until`.
base::Result<Outcome> train(const DataSet& data, const SimulationOptions& options,
                            const RealOptions& real);

}  // namespace pace::bench
