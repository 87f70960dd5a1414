// What a daemon has begun ends with it, or with whom it was begun for, and keeps no memory.
#include <csignal>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps memory of its own";
#endif
    constexpr int kRounds = 40;
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1},
                        .tune =
                            [](pace_job_options& job) {
                                job.policy = PACE_POLICY_PARTIAL_REDUCE;
                                job.group_size = 2;
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
    // A round's result has 4 MiB.
    EXPECT_LT(after, before + uint64_t{kRounds} * 1024) << "KiB";
}

}  // namespace
}  // namespace pace::cluster
