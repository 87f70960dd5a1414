// MeasuredJob: what a status document (`pacectl status --json`) says about one job and about the
// nodes on which it runs. It is checked, and covers what a prediction needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/controller/vocabulary/options.h"
#include "service/simulator/model/candidate.h"

namespace pace::simulator {

// Larger documents are not read. The controller's own document stays below a third of this size.
inline constexpr size_t kStatusBytesMax = 16 * 1024 * 1024;

// A time of 0 was not measured.
struct MeasuredWorker {
    uint64_t rank = 0;
    uint64_t node = 0;
    double step_ms = 0;  // median of recent steps
    double step_last_ms = 0;
    double waited_ms = 0;
    double exchanged_ms = 0;
};

struct MeasuredNode {
    uint64_t node = 0;
    std::string host;
    // The operator's name for the zone, otherwise that of the zone that links have shown. May be
    // empty.
    std::string zone;
};

struct MeasuredLink {
    uint64_t from = 0;
    uint64_t to = 0;
    double latency_us = 0;
    double ns_per_byte = 0;
};

// A member of a group: the times at which it was ready and at which its exchange ended.
struct MeasuredTurn {
    uint64_t rank = 0;
    uint64_t signalled_us = 0;
    uint64_t ended_us = 0;
};

// A recent group that is done. The document tells all its members.
struct MeasuredGroup {
    uint64_t bytes = 0;  // that the group's nodes have sent
    size_t nodes = 0;
    std::vector<MeasuredTurn> turns;
};

struct MeasuredJob {
    std::string name;
    controller::JobOptions options;
    std::vector<MeasuredWorker> workers;  // that take part now, by node and rank
    uint64_t workers_left_out = 0;        // that the document does not list
    std::vector<MeasuredNode> nodes;      // that have such workers, in the workers' order
    std::vector<MeasuredLink> links;      // among the nodes
    std::vector<MeasuredGroup> groups;    // the latest last
};

// `source` is the document's name in messages.
base::Result<MeasuredJob> read_measured_job(std::string_view document, std::string_view source,
                                            std::string_view job);

}  // namespace pace::simulator
