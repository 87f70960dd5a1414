// MeasuredJob: what a status document (`pacectl status --json`) says of one job and of the nodes that it runs on, checked, and as
// far as a prediction needs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/controller/core/options.h"
#include "service/simulator/candidate.h"

namespace pace::simulator {

// Larger documents are not read. The controller's own stays below a third of it.
inline constexpr size_t kStatusBytesMax = 16 * 1024 * 1024;

// A 0 that is a time was not measured.
struct MeasuredWorker {
    uint64_t rank = 0;
    uint64_t node = 0;
    double step_ms = 0;  // medians of recent ones
    double step_last_ms = 0;
    double waited_ms = 0;
    double exchanged_ms = 0;
};

struct MeasuredNode {
    uint64_t node = 0;
    std::string host;
    std::string
        zone;  // in words of the operator; else of those that links have shown; may be empty
};

struct MeasuredLink {
    uint64_t from = 0;
    uint64_t to = 0;
    double latency_us = 0;
    double ns_per_byte = 0;
};

// A member of a group: when it was ready, and when its exchange was over.
struct MeasuredTurn {
    uint64_t rank = 0;
    uint64_t signalled_us = 0;
    uint64_t ended_us = 0;
};

// A recent group that is done, and of which all members are told.
struct MeasuredGroup {
    uint64_t bytes = 0;  // that its nodes have sent
    size_t nodes = 0;
    std::vector<MeasuredTurn> turns;
};

struct MeasuredJob {
    std::string name;
    controller::JobOptions options;
    std::vector<MeasuredWorker> workers;  // that take part now, by node and rank
    uint64_t workers_left_out = 0;        // that the document does not list
    std::vector<MeasuredNode> nodes;      // that have such workers, in their order
    std::vector<MeasuredLink> links;      // among them
    std::vector<MeasuredGroup> groups;    // the latest last
};

// `source` is the document's name in messages.
base::Result<MeasuredJob> read_measured_job(std::string_view document, std::string_view source,
                                            std::string_view job);

}  // namespace pace::simulator
