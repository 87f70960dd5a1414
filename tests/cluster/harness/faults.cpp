#include "tests/cluster/harness/faults.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

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

std::optional<std::string> let_say(Process& trainer, const std::string& prefix, Cluster& cluster) {
    auto said = trainer.wait_for(prefix, soon());
    if (said) return said;
    const std::string last = trainer.lines().empty() ? "nothing" : trainer.lines().back();
    ADD_FAILURE() << "no '" << prefix << "'; its last line: " << last << "\n"
                  << cluster.state() << cluster.logs();
    return std::nullopt;
}

void let_step(Process& trainer, uint64_t steps, Cluster& cluster) {
    for (uint64_t i = 0; i < steps; ++i)
        ASSERT_TRUE(let_say(trainer, "step ", cluster)) << i << " of " << steps << " steps made";
}

namespace {

// Returns the text after "step " in the last line that has it. Empty means that there is no such
// line.
std::string newest_step_line(Process& trainer) {
    while (trainer.read_line(within(std::chrono::milliseconds(0)))) {
    }
    const auto& lines = trainer.lines();
    const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
        return line.starts_with("step ");
    });
    return last != lines.rend() ? last->substr(5) : "";
}

}  // namespace

uint64_t newest_step(Process& trainer) {
    const std::string line = newest_step_line(trainer);
    return line.empty() ? 0 : std::stoull(line);
}

void let_step_from_now(Process& trainer, uint64_t steps, Cluster& cluster) {
    newest_step(trainer);
    let_step(trainer, steps, cluster);
}

uint64_t newest_round(Process& trainer) {
    const std::string line = newest_step_line(trainer);
    if (line.empty()) return 0;
    unsigned long round = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%*u %*u %lu", &round), 1);
    return round;
}

void let_stop(Process& trainer, Process& other, Cluster& cluster) {
    const Deadline deadline = soon();
    uint64_t before = newest_step(trainer);
    while (std::chrono::steady_clock::now() < deadline) {
        ASSERT_NO_FATAL_FAILURE(let_step(other, 100, cluster));
        const uint64_t now = newest_step(trainer);
        if (std::exchange(before, now) == now) return;
    }
    FAIL() << "it goes on: step " << before << "\n" << cluster.logs();
}

Process start_again(Cluster& cluster, size_t node, size_t rank, size_t world,
                    std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--rank", std::to_string(rank), "--world", std::to_string(world)});
    return cluster.trainer(node, std::move(flags));
}

void expect_no_line(const std::vector<Process>& trainers, const std::string& prefix) {
    for (const Process& trainer : trainers)
        for (const std::string& line : trainer.lines())
            EXPECT_FALSE(line.starts_with(prefix)) << line;
}

void storm(std::vector<Process>& trainers, Cluster& cluster, base::Random& random, int times,
           const std::vector<std::string>& flags) {
    storm(trainers, cluster, random, times, [&](size_t rank) {
        trainers[rank].signal(SIGKILL);
        ASSERT_TRUE(trainers[rank].wait(soon()));
        trainers[rank] = start_again(cluster, rank / 2, rank, trainers.size(), flags);
    });
}

void storm(std::vector<Process>& trainers, Cluster& cluster, base::Random& random, int times,
           const std::function<void(size_t rank)>& replace) {
    for (int i = 0; i < times; ++i) {
        let_step(trainers[0], 1 + random.below(20), cluster);
        const size_t rank = 2 + random.below(trainers.size() - 2);
        switch (random.below(4)) {
            case 0:
                trainers[rank].signal(SIGSTOP);
                break;
            case 1:
                trainers[rank].signal(SIGCONT);
                break;
            case 2:
                cluster.kill_controller();
                cluster.start_controller();
                break;
            default:
                replace(rank);
        }
    }
    for (Process& trainer : trainers) trainer.signal(SIGCONT);
}

}  // namespace pace::cluster
