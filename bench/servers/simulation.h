// Simulation: workers of unequal speed and a parameter server, in virtual time. The learning is
// real, and so is the order in which pushes and pulls take effect. It uses the workers' gradients,
// the controller's order (service/controller/core/serving/server.h) and a daemon's shard
// (daemon/server/shard.h). Only the times of a step and of a pull are assumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "learner.h"
#include "service/controller/core/serving/server.h"

namespace pace::bench {

struct SimulationOptions {
    controller::ServerOptions server;
    Learner::Options learner;
    size_t workers = 30;
    size_t slow = 6;         // number of slow workers
    double slow_factor = 2;  // their steps last this many times longer
    double jitter = 0.05;    // a step lasts 1 on average, and differs by up to this share
    double pull_time = 0.1;  // of a pull, in steps
    double learning_rate = 1;
    bool decays = false;  // learning_rate / sqrt(0.2 clock + 1)
    double until = 50;    // time
    double target = 0;    // the objective at which to end
    uint64_t seed = 1;
};

// The number of samples in a row that must be at the target.
inline constexpr size_t kSteady = 3;

struct Sample {
    double time = 0;
    uint64_t updates = 0;
    double objective = 0;
};

struct Outcome {
    std::vector<Sample> samples;
    // The first of three samples in a row at the target. Time 0 means never.
    Sample reached;
    double accuracy = 0;  // at the end
    size_t versions_max = 0;
    size_t model_bytes = 0;
    size_t versions_bytes_max = 0;
};

Outcome simulate(const DataSet& data, const SimulationOptions& options);

}  // namespace pace::bench
