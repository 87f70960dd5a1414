// Clusters for the simulator's tests, with numbers that are easy to calculate.
#pragma once

#include "service/simulator/model/scenario.h"

namespace pace::simulator {

// A cluster of equal nodes. Steps take 100 ms, and models have 10 MB. A node's link moves 1 GB/s,
// so 10 MB take 10 ms. A node's memory moves 10 GB/s, so reading and writing a worker's model take
// 2 ms. Messages take no time.
inline Scenario even_cluster(uint32_t nodes, uint32_t workers_of_node) {
    Scenario scenario;
    scenario.bytes = 10e6;
    scenario.distributions.push_back({Shape::constant, 0.1, 0, 0, {}});
    for (uint32_t node = 0; node < nodes; ++node) {
        scenario.channels.push_back({10e9});
        scenario.channels.push_back({1e9});
        scenario.nodes.push_back({2 * node, 2 * node + 1});
        for (uint32_t worker = 0; worker < workers_of_node; ++worker)
            scenario.workers.push_back({node, 0, 1});
    }
    scenario.steps = 40;
    return scenario;
}

}  // namespace pace::simulator
