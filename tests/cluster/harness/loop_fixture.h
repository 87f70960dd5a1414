// The common parts of the tests of the daemons' event loops. The daemons measure their loops
// themselves. They leave out the time in which the machine gave them no processor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/sanitized.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {

inline constexpr double kLoopMsMax = 100;
// Heartbeats come every 200 ms. A daemon that is silent for 500 ms is given up. Unlike kLoopMsMax,
// this limit includes the time without a processor.
inline constexpr double kHeartbeatLateMsMax = 250;

// PACE_TEST_MODEL_MIB sets a larger size.
inline uint64_t model_bytes() {
    const char* const named = std::getenv("PACE_TEST_MODEL_MIB");
    return (named == nullptr ? 1024 : std::strtoull(named, nullptr, 10)) * kMebi;
}
inline uint64_t model_floats() {
    return model_bytes() / sizeof(float);
}

// Returns whether the machine has memory for `models` models, and as much again for all other
// processes.
inline bool has_room_for(uint64_t models) {
    FILE* const file = fopen("/proc/meminfo", "r");
    unsigned long long kibi = 0;
    char line[256];
    while (file != nullptr && fgets(line, sizeof(line), file) != nullptr)
        if (sscanf(line, "MemAvailable: %llu kB", &kibi) == 1) break;
    if (file != nullptr) fclose(file);
    return kibi * 1024 > 2 * models * model_bytes();
}

#define SKIP_WITHOUT_ROOM_FOR(models)                                                     \
    if (base::kSanitized)                                                                 \
        GTEST_SKIP() << "measures time, which a sanitizer's build takes more of";         \
    if (!has_room_for(models))                                                            \
    GTEST_SKIP() << "needs memory for " << 2 * (models) << " models of " << model_bytes() \
                 << " bytes"

inline std::vector<std::string> room_for_models() {
    return {"--client-bytes-max", fmt::format("{}", 8 * model_bytes())};
}

// Expects that no daemon's loop stood still, and that no daemon was taken for dead. Many callbacks
// in a row delay a heartbeat as one long callback does.
inline void expect_calm(Cluster& cluster, size_t nodes) {
    for (size_t node = 0; node < nodes; ++node) {
        const auto document = nlohmann::json::parse(cluster.pacectl(node, {"daemon", "--json"}));
        const auto& loop = document.at("loop");
        EXPECT_LT(loop.at("longest_ms").get<double>(), kLoopMsMax)
            << "node " << node << ": " << loop.dump();
        EXPECT_LT(loop.at("heartbeat_late_ms").get<double>(), kHeartbeatLateMsMax)
            << "node " << node << ": " << loop.dump();
    }
    const std::string logs = cluster.logs();
    EXPECT_EQ(logs.find("silent for"), std::string::npos) << logs;
    EXPECT_EQ(logs.find("excluded"), std::string::npos) << logs;
}

// A worker on each of the named nodes, with `floats` floats.
struct Pair {
    Pair(Cluster& cluster, WorkerOptions options, uint64_t count = model_floats(),
         const std::vector<size_t>& nodes = {0, 1})
        : floats(count) {
        for (uint32_t rank = 0; rank < nodes.size(); ++rank) {
            options.endpoint = cluster.endpoint(nodes[rank]);
            options.rank = rank;
            options.world = static_cast<uint32_t>(nodes.size());
            options.tune = [tune = options.tune](AskedSession& job) {
                job.set(PACE_OPT_WORKER_TIMEOUT_MS, 600000);
                if (tune) tune(job);
            };
            workers.emplace_back(options);
            EXPECT_EQ(workers.back().opened(), PACE_OK) << workers.back().complaint();
            data.push_back(workers.back().add_floats(floats, static_cast<float>(rank + 1)));
        }
    }
    template <typename Verb>
    void both(Verb&& verb) {
        std::vector<pace_request> requests;
        for (Worker& worker : workers) requests.push_back(verb(worker));
        for (size_t i = 0; i < workers.size(); ++i) workers[i].finish(requests[i]);
    }
    void expect_value(float value) const {
        for (const float* const own : data)
            for (const uint64_t i : {uint64_t{0}, floats / 2, floats - 1})
                ASSERT_EQ(own[i], value) << i;
    }
    void set(float value) {
        for (float* const own : data) std::fill_n(own, floats, value);
    }
    // Sets the elements so that no two elements among many in a row are equal.
    void set_unlike() {
        for (float* const own : data)
            for (uint64_t i = 0; i < floats; ++i)
                own[i] =
                    static_cast<float>(static_cast<uint32_t>(i) * 2654435761U) * 0x1p-32F + 0.5F;
    }
    uint64_t floats;
    std::vector<Worker> workers;
    std::vector<float*> data;
};

}  // namespace pace::cluster
