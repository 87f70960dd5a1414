#include "faults.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::cluster {

uint64_t test_seed() {
    static const uint64_t chosen = [] {
        const char* given = std::getenv("PACE_TEST_SEED");
        const uint64_t value =
            given != nullptr ? std::strtoull(given, nullptr, 10) : base::random_token() % 1'000'000;
        std::printf("PACE_TEST_SEED=%llu\n", static_cast<unsigned long long>(value));
        return value;
    }();
    return chosen;
}

void let_step(Process& trainer, uint64_t steps, Cluster& cluster) {
    for (uint64_t i = 0; i < steps; ++i) {
        if (trainer.wait_for("step ", soon())) continue;
        const std::string last = trainer.lines().empty() ? "nothing" : trainer.lines().back();
        FAIL() << "no step, " << i << " of " << steps << " made; its last line: " << last << "\n"
               << cluster.state() << cluster.logs();
    }
}

Process start_again(Cluster& cluster, size_t node, size_t rank, size_t world,
                    std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--rank", std::to_string(rank), "--world", std::to_string(world)});
    return cluster.trainer(node, std::move(flags));
}

}  // namespace pace::cluster
