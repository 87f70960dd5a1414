// Documents as a controller and a daemon write them, of any size, and a search for lines of
// metrics.
#pragma once

#include <string>

#include <fmt/format.h>

#include "service/metrics/fields.h"

namespace pace::metrics {

inline Json node_of(size_t index) {
    return {{"node", index + 1},  {"name", fmt::format("node-{}", index)},
            {"status", "alive"},  {"silent_ms", 12.5},
            {"version", "1.0.0"}, {"zone", "rack"},
            {"draining", false},  {"workers", 8}};
}

inline Json worker_of(size_t rank) {
    return {{"rank", rank},
            {"node", rank / 8 + 1},
            {"status", "active"},
            {"iteration", 1000 + rank},
            {"rounds_submitted", 12},
            {"step_last_ms", 19.25},
            {"step_median_ms", 20.125},
            {"exchanging", false},
            {"activity", "computing"},
            {"activity_s", 0.25},
            {"slow", nullptr},
            {"loss", 0.693147},
            {"samples_per_s", 1234.5},
            {"waited", {{"total_s", 12.5}, {"median_ms", 1.5}}},
            {"exchanged", {{"total_s", 2.5}, {"median_ms", 0.5}}},
            {"computed", {{"total_s", 99.5}, {"median_ms", 20}}}};
}

inline Json job_of(size_t workers) {
    Json job{{"name", "large"},
             {"state", "running"},
             {"step_median_ms", 20},
             {"groups_completed", 7},
             {"groups_failed", 1},
             {"conflicts", 0},
             {"spectral_gap", 0.5},
             {"sync_components", 1},
             {"waited", {{"total_s", 3}}},
             {"exchanged", {{"total_s", 4}}},
             {"workers_left_out", 0}};
    Json model{{"pushes", 3}, {"waited_by_s", Json::array()}};
    for (size_t rank = 0; rank < workers; ++rank) {
        job["workers"].push_back(worker_of(rank));
        if (rank < 64) model["waited_by_s"].push_back({rank, 1.5});
    }
    job["model"] = model;
    return job;
}

// One running job with `workers` workers, eight on each node, and all fields set.
inline Json status_of(size_t workers) {
    Json status{{"version", "1.0.0"},
                {"protocol", 7},
                {"journal", {{"state", "writing"}, {"bytes", 100}, {"waiting", 0}}},
                {"messages", {{"received", 10}, {"sent", 20}}},
                {"counters", {{"signals", 5}, {"views", 2}}},
                {"nodes_left_out", 0},
                {"cut_links", Json::array()}};
    const size_t nodes = (workers + 7) / 8;
    for (size_t i = 0; i < nodes; ++i) status["nodes"].push_back(node_of(i));
    status["jobs"] = Json::array({job_of(workers)});
    return status;
}

inline bool has_line(const std::string& metrics, const std::string& line) {
    return ("\n" + metrics).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace pace::metrics
