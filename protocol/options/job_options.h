// JobOptions: the options of a job. This is their only declaration: daemon, controller, tools and
// simulator share it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/options/choices.h"

namespace pace::protocol {

// Each member except the first three has a row in option_table.cpp. The row says what the member
// means, its bounds, and in which jobs it counts. The value that stands here is the default. A 0
// means absent if the row's least value is above 0. Then Pace chooses the value.
struct JobOptions {
    std::string name;    // letters, digits, '.', '_', '-'; at most kNameBytesMax
    uint32_t world = 0;  // number of workers of the job, 1 .. kWorldMax
    Policy policy = Policy::partial_reduce;

    uint32_t worker_timeout_ms = 0;
    uint32_t min_workers = 0;
    uint32_t min_workers_wait_ms = 5000;

    // Options of groups and their averages.
    uint32_t group_size = 0;
    uint32_t group_min = 2;
    uint32_t group_wait_ms = 0;
    uint32_t history_window = 0;
    uint32_t progress_gap = 4;
    std::vector<uint32_t> edges;  // pairs of ranks; empty means that all are neighbours
    Weights weights = Weights::constant;
    double alpha = 0.5;
    Missing missing = Missing::closest;

    // Options of rounds of gradients.
    Quorum quorum = Quorum::all;
    uint32_t quorum_count = 0;
    Late late = Late::accumulate;
    uint32_t staleness_max = 32;
    DivideBy divide_by = DivideBy::world;
    uint32_t resync_every = 0;
    bool reject_nonfinite = false;
    Compression compression = Compression::off;
    double density = 0.01;
    Residuals residuals = Residuals::global;
    uint32_t teams = 0;
    TeamGather team_gather = TeamGather::automatic;
    Indices indices = Indices::compressed;
    Values values = Values::f32;
    Hierarchy hierarchy = Hierarchy::node;
    DenseFallback dense_fallback = DenseFallback::automatic;

    // Options of parameter servers.
    uint64_t elements = 0;
    uint32_t staleness = 3;
    Rate rate = Rate::dynamic;
    double constant_rate = 0;
    double filter = 1e-6;
    uint32_t shards = 0;
    uint32_t checkpoint_every_ms = 0;
    uint32_t checkpoint_copies = 2;
    bool restore = false;
    bool unsynchronized = false;

    bool operator==(const JobOptions&) const = default;
};

// Whether rounds go on without late workers.
constexpr bool is_partial(const JobOptions& options) {
    return options.quorum != Quorum::all;
}

}  // namespace pace::protocol
