// Scenario: a job and its cluster, as the simulator needs them. scenario_file reads a scenario.
// from_status makes one from a running job's measurements. scenario_text writes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/controller/vocabulary/types.h"
#include "service/simulator/model/candidate.h"
#include "service/simulator/model/distribution.h"

namespace pace::simulator {

// A channel moves bytes: a machine's memory, its link to the others, or the way between two zones.
// Several nodes may share a channel, for example daemons on one machine.
struct Channel {
    double bytes_per_s = 0;
};

struct Node {
    uint32_t memory = 0;  // index into Scenario::channels, as is `link`
    uint32_t link = 0;
    std::string zone{};  // may be empty
};

struct Worker {
    uint32_t node = 0;          // index into Scenario::nodes
    uint32_t distribution = 0;  // index into Scenario::distributions
    double slow = 1;            // its steps take this many times longer
};

// The connection of two zones.
struct BetweenZones {
    double bytes_per_s = 0;  // each way; 0: only the nodes' links limit
    double latency_s = 0;    // of a message between nodes of two zones
};

struct Scenario {
    double bytes = 0;                // of the model, or of the gradients
    double element_bytes = 4;        // of one of the model's numbers
    controller::JobOptions options;  // shared by all candidates: weights, waits; no policy
    // What the job does now. None: the choice is compared with all-reduce.
    std::optional<Candidate> now;
    std::vector<Channel> channels;
    std::vector<Node> nodes;
    std::vector<Worker> workers;  // by rank
    std::vector<Distribution> distributions;
    double latency_s = 0;     // of a message between two nodes
    double controller_s = 0;  // from a worker's signal to its order, if nobody is waited for
    // None: a message between zones is as fast as one within a zone.
    std::optional<BetweenZones> between_zones;
    std::vector<controller::Policy> policies;
    std::vector<uint32_t> group_sizes;  // for policies with a chosen group size
    // With the number of quorum count.
    std::vector<std::pair<controller::Quorum, uint32_t>> quorums;
    std::vector<controller::Compression> compressions;
    std::vector<double> densities;    // for compression spardl
    std::vector<uint32_t> staleness;  // for policy ssp
    uint32_t steps = 0;               // updates of the average worker that are measured
    uint64_t seed = 1;
    std::vector<std::string> notes;  // what was measured and what was assumed, in sentences

    uint32_t world() const { return static_cast<uint32_t>(workers.size()); }
};

}  // namespace pace::simulator
