// Scenario: a job and its cluster, as the simulator needs them. scenario_file reads one, from_status makes one of a running job's
// measurements, scenario_text writes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/controller/core/types.h"
#include "service/simulator/candidate.h"
#include "service/simulator/distribution.h"

namespace pace::simulator {

// What moves bytes: a machine's memory, its way to the others, or the way between two zones. Several nodes may share one:
// daemons on one machine.
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

// What two zones are joined by.
struct BetweenZones {
    double bytes_per_s = 0;  // each way; 0: nothing bounds them but the nodes' links
    double latency_s = 0;    // of a message between nodes of two zones
};

struct Scenario {
    double bytes = 0;                // of the model, or of the gradients
    double element_bytes = 4;        // of one of its numbers
    controller::JobOptions options;  // what all candidates share: weights, waits; no policy
    std::optional<Candidate>
        now;  // what the job does now; none: all-reduce is what the choice is compared with
    std::vector<Channel> channels;
    std::vector<Node> nodes;
    std::vector<Worker> workers;  // by rank
    std::vector<Distribution> distributions;
    double latency_s = 0;     // of a message between two nodes
    double controller_s = 0;  // from a worker's signal to its order, when nobody is waited for
    std::optional<BetweenZones> between_zones;  // none: what crosses is as fast as what does not
    std::vector<controller::Policy> policies;
    std::vector<uint32_t> group_sizes;  // of the policies that let one choose
    std::vector<std::pair<controller::Quorum, uint32_t>>
        quorums;  // with the number of quorum count
    std::vector<controller::Compression> compressions;
    std::vector<double> densities;    // of compression spardl
    std::vector<uint32_t> staleness;  // of policy ssp
    uint32_t steps = 0;               // updates of the average worker that are measured
    uint64_t seed = 1;
    std::vector<std::string> notes;  // what was measured, and what assumed, in sentences

    uint32_t world() const { return static_cast<uint32_t>(workers.size()); }
};

}  // namespace pace::simulator
