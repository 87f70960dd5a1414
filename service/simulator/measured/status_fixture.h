// A status document for tests, as `pacectl status --json` prints it. Fields that no test reads are
// left out.
#pragma once

#include <nlohmann/json.hpp>

namespace pace::simulator {

inline nlohmann::json measured_worker(uint32_t rank, uint32_t node, double step_ms) {
    return {{"rank", rank},
            {"node", node},
            {"status", "active"},
            {"step_last_ms", step_ms * 1.1},
            {"step_median_ms", step_ms},
            {"waited", {{"total_s", 1}, {"median_ms", 20}}},
            {"exchanged", {{"total_s", 1}, {"median_ms", 30}}}};
}

inline nlohmann::json measured_link(uint32_t from, uint32_t to, double latency_us, double ns) {
    return {{"from", from}, {"to", to}, {"latency_us", latency_us}, {"ns_per_byte", ns}};
}

// Three workers on nodes 3 and 7. Ranks 0 and 2 run on node 7. Rank 1 runs on node 3 and is twice
// as slow. Steps take 100 ms, and links have 8 Gbit/s.
inline nlohmann::json status_document() {
    nlohmann::json job = {
        {"name", "resnet"},
        {"options", {{"policy", "partial-reduce"}, {"world", 3}, {"group.size", 2}}},
        {"workers_left_out", 0},
        {"zones", nlohmann::json::array()}};
    job["workers"] = {measured_worker(0, 7, 100), measured_worker(1, 3, 200),
                      measured_worker(2, 7, 100)};
    job["recent_groups"] = {
        {{"state", "done"},
         {"size", 2},
         {"bytes", 2'000'000},
         {"members", {{{"rank", 0}, {"node", 7}}, {{"rank", 1}, {"node", 3}}}}}};
    return {
        {"nodes",
         {{{"node", 3}, {"host", "a"}, {"zone", ""}}, {{"node", 7}, {"host", "b"}, {"zone", ""}}}},
        {"links", {measured_link(3, 7, 80, 1)}},
        {"jobs", {job}}};
}

}  // namespace pace::simulator
