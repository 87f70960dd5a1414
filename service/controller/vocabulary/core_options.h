// Core options: what an operator may tune of the core, and what the core counts.
#pragma once

#include <cstdint>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// Limits, so that no user can occupy the whole controller. A job counts as many workers as its
// world has, joined or not, and one more for every 16 edges of a communication graph.
struct JobLimits {
    uint32_t jobs = 4096;
    uint32_t jobs_of_user = 256;
    uint64_t workers = 262'144;
    uint64_t workers_of_user = 65'536;
};

// The settings that an operator may tune; zero means default.
struct CoreOptions {
    uint64_t seed = 1;  // of all random choices except tokens
    // A silent node is excluded after at most this time.
    Duration liveness_max = std::chrono::seconds(2);
    Duration liveness_min = std::chrono::milliseconds(500);
    Duration probe_wait = std::chrono::milliseconds(30);  // a suspect must answer in time
    // A worker stopped by a signal is suspended after this time.
    Duration stopped_wait = std::chrono::seconds(2);
    // A job whose workers all died is kept this long.
    Duration abandoned_keep = std::chrono::minutes(10);
    uint32_t recent_groups = 256;  // the most that status shows per job
    // Sums also use relays in zones known only from measurements.
    bool relay_measured_zones = false;
    // A job that nobody has joined is kept this long.
    Duration unjoined_keep = std::chrono::hours(24);
    JobLimits limits{};
};

// Work counters for benchmarks and metrics.
struct CoreCounters {
    uint64_t signals = 0;
    uint64_t groups = 0;
    uint64_t bridged_groups = 0;  // groups changed to bridge components
    uint64_t views = 0;
};

}  // namespace pace::controller
