// Lifetime tests: work that a daemon has begun ends with the daemon or with the worker that it
// serves. The work keeps no memory.
#include <csignal>
#include <fstream>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/sanitized.h"
#include "cluster.h"
#include "crew.h"
#include "worker.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kMebi = uint64_t{1} << 20U;

uint64_t resident_kib(const Process& process) {
    std::ifstream status("/proc/" + std::to_string(process.pid()) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8));
    ADD_FAILURE() << "no RssAnon of the daemon";
    return 0;
}

WorkerOptions averaging(const Cluster& cluster, uint32_t rank) {
    return {.endpoint = cluster.endpoint(rank),
            .rank = rank,
            .world = 2,
            .policy = PACE_POLICY_PARTIAL_REDUCE,
            .group_size = 2,
            .connect_ms = 1000};
}

TEST(Lifetime, ADaemonStopsWhileANewcomerWaitsForAModel) {
    Cluster cluster({.nodes = 2});
    Worker donor(averaging(cluster, 0));
    donor.add_floats(kMebi, 1);
    {
        Worker before(averaging(cluster, 1));
        before.add_floats(kMebi, 2);
        const pace_request first = donor.broadcast(0);
        before.finish(before.broadcast(0));
        donor.finish(first);
    }
    Worker newcomer(averaging(cluster, 1));
    ASSERT_EQ(newcomer.opened(), PACE_OK) << newcomer.complaint();
    newcomer.add_floats(kMebi, 3);
    // The donor computes, and comes to no boundary.
    const pace_request waiting = newcomer.broadcast(0);
    EXPECT_EQ(newcomer.wait(waiting, 10 * kMomentMs), PACE_TIMEOUT);
    cluster.daemon(1).signal(SIGTERM);
    EXPECT_EQ(cluster.daemon(1).wait(soon()), 0) << cluster.logs();
    cluster.daemon(0).signal(SIGTERM);
    EXPECT_EQ(cluster.daemon(0).wait(soon()), 0) << cluster.logs();
}

TEST(Lifetime, SyncsAmongAveragesLeaveNoMemoryBehind) {
    if (base::kSanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own";
    constexpr int kRounds = 40;
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1},
                        .tune =
                            [](AskedSession& job) {
                                job.policy = PACE_POLICY_PARTIAL_REDUCE;
                                job.set(PACE_OPT_GROUP_SIZE, 2);
                            },
                        .elements = kMebi});
    uint64_t iteration = 0;
    const auto both = [&] {
        ++iteration;
        crew.everyone([&](Worker& worker) { return worker.average(iteration); });
        crew.everyone([](Worker& worker) { return worker.sync(); });
    };
    for (int round = 0; round < 5; ++round) both();
    const uint64_t before = resident_kib(cluster.daemon(0));
    for (int round = 0; round < kRounds; ++round) both();
    const uint64_t after = resident_kib(cluster.daemon(0));
    // The result of a round has 4 MiB.
    EXPECT_LT(after, before + uint64_t{kRounds} * 1024) << "KiB";
}

// --------------------------------------------------------------------------- what is left of a job

// Well below the 30 s after which a node drops a job about which no message comes.
constexpr auto kAtOnce = std::chrono::seconds(5);

uint64_t bytes_kept(Cluster& cluster, size_t node) {
    const auto document = nlohmann::json::parse(cluster.pacectl(node, {"daemon", "--json"}));
    return document.at("memory").at("buffers").get<uint64_t>();
}

// Returns what the daemons still keep of any job. Empty means nothing.
std::string kept_after_a_moment(Cluster& cluster, size_t nodes) {
    const Deadline deadline = within(kAtOnce);
    std::string kept;
    do {
        kept.clear();
        for (size_t node = 0; node < nodes; ++node)
            if (const uint64_t bytes = bytes_kept(cluster, node); bytes != 0)
                kept += fmt::format(" {} has {} bytes", Cluster::name(node), bytes);
    } while (!kept.empty() && std::chrono::steady_clock::now() < deadline);
    return kept;
}

struct Family {
    const char* name;
    Crew::Tune tune;
    Crew::Verb verb;
};

class Left : public testing::TestWithParam<Family> {
  protected:
    void SetUp() override {
        if (std::string(PACECTL) == "none") GTEST_SKIP() << "pacectl is not built";
    }
};

pace_request reduce_sum(Worker& worker) {
    return worker.reduce();
}
pace_request average_next(Worker& worker) {
    return worker.average(worker.info().iteration + 1);
}

INSTANTIATE_TEST_SUITE_P(Families, Left,
                         testing::Values(Family{"AllReduce", {}, reduce_sum},
                                         Family{"Majority", majority, reduce_sum},
                                         Family{"SparDl",
                                                [](AskedSession& job) {
                                                    job.set(PACE_OPT_COMPRESSION, "spardl");
                                                    job.set(PACE_OPT_TOPK_DENSITY, 0.01);
                                                },
                                                reduce_sum},
                                         Family{"PartialReduce",
                                                [](AskedSession& job) {
                                                    job.policy = PACE_POLICY_PARTIAL_REDUCE;
                                                    job.set(PACE_OPT_GROUP_SIZE, 3);
                                                    job.set(PACE_OPT_AVERAGE_WEIGHTS, "dynamic");
                                                    job.set(PACE_OPT_AVERAGE_MISSING, "initial");
                                                },
                                                average_next},
                                         Family{"Prague",
                                                [](AskedSession& job) {
                                                    job.policy = PACE_POLICY_PRAGUE_SMART;
                                                    job.set(PACE_OPT_GROUP_SIZE, 3);
                                                },
                                                average_next}),
                         [](const auto& family) { return std::string(family.param.name); });

void PrintTo(const Family& family, std::ostream* out) {
    *out << family.name;
}

TEST_P(Left, AJobWhoseWorkersHaveAllLeftLeavesNothingOnItsNodes) {
    Cluster cluster({.nodes = 3});
    Crew crew(cluster, {.nodes = {0, 1, 2}, .tune = GetParam().tune, .elements = 20000});
    crew.everyone([](Worker& worker) { return worker.broadcast(0); });
    for (int round = 0; round < 5; ++round) crew.everyone(GetParam().verb);
    for (size_t rank = 0; rank < 3; ++rank) crew.leave(rank);
    EXPECT_EQ(kept_after_a_moment(cluster, 3), "") << cluster.logs();
}

// The other workers go on without this node.
TEST_P(Left, ANodeWhoseWorkersHaveLeftKeepsNothingThoughTheJobGoesOn) {
    Cluster cluster({.nodes = 3});
    Crew crew(cluster, {.nodes = {0, 1, 2}, .tune = GetParam().tune, .elements = 20000});
    crew.everyone([](Worker& worker) { return worker.broadcast(0); });
    for (int round = 0; round < 5; ++round) crew.everyone(GetParam().verb);
    crew.leave(0);
    EXPECT_EQ(kept_after_a_moment(cluster, 1), "") << cluster.logs();
    for (int round = 0; round < 2; ++round) crew.everyone(GetParam().verb);
}

}  // namespace
}  // namespace pace::cluster
