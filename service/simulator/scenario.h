// Scenario: a job and its cluster, as the simulator needs them. scenario_file reads one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/controller/core/types.h"
#include "service/simulator/distribution.h"

namespace pace::simulator {

// What moves bytes: a machine's memory, or its way to the others. Several nodes may share one: daemons
// on one machine.
struct Channel {
    double bytes_per_s = 0;
};

struct Node {
    uint32_t memory = 0;  // indices into Scenario::channels
    uint32_t link = 0;
    std::string zone{};  // may be empty
};

struct Worker {
    uint32_t node = 0;          // index into Scenario::nodes
    uint32_t distribution = 0;  // index into Scenario::distributions
    double slow = 1;            // its steps take so many times longer
};

struct Scenario {
    double bytes = 0;                // of the model, or of the gradients
    controller::JobOptions options;  // what all candidates share: weights, waits; no policy
    std::vector<Channel> channels;
    std::vector<Node> nodes;
    std::vector<Worker> workers;  // by rank
    std::vector<Distribution> distributions;
    double latency_s = 0;     // of a message between two nodes
    double controller_s = 0;  // from a worker's signal to its order, when nobody is waited for
    std::vector<controller::Policy> policies;
    std::vector<uint32_t> group_sizes;  // of the policies that let one choose
    uint32_t steps = 0;                 // updates of the average worker that are measured
    uint64_t seed = 1;

    uint32_t world() const { return static_cast<uint32_t>(workers.size()); }
};

}  // namespace pace::simulator
