// Lifetime tests: work that a daemon has begun ends with the daemon or with the worker that it
// serves. The work keeps no memory.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/sanitized.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/crew.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

constexpr int kStops = 8;

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

// A trainer that is told that its buffers are as it left them computes on. Nothing may write to
// them any more, though the daemon's process lives for another moment.
class StoppedDaemon : public ::testing::TestWithParam<const char*> {
  protected:
    static constexpr uint64_t kElements = kMebi / 8;

    static float value_of(uint32_t rank) { return 1.0F + static_cast<float>(rank); }

    struct Trainer {
        Trainer(const Cluster& cluster, size_t node, const char* job, const char* policy,
                uint32_t rank)
            : worker({.endpoint = cluster.endpoint(node),
                      .job = job,
                      .rank = rank,
                      .world = 2,
                      .policy = policy,
                      .connect_ms = 1000}),
              value(value_of(rank)),
              data(worker.add_floats(kElements, value)) {}
        bool has_what_it_left() const {
            return std::all_of(data, data + kElements, [&](float one) { return one == value; });
        }
        Worker worker;
        float value;
        float* data;
        pace_request request{};
    };

    // Returns how many workers were told wrongly that their buffers are as they were.
    int stop_during_a_call(std::chrono::microseconds delay) {
        // A peer that hangs in another job's exchange keeps the daemon for a second.
        Trainer held(cluster_, 0, "other", PACE_POLICY_ALL_REDUCE, 0);
        const Trainer hanging(cluster_, 1, "other", PACE_POLICY_ALL_REDUCE, 1);
        std::array<Trainer, 2> trainers{Trainer(cluster_, 0, "test", GetParam(), 0),
                                        Trainer(cluster_, 0, "test", GetParam(), 1)};
        cluster_.daemon(1).signal(SIGSTOP);
        held.request = held.worker.reduce();
        for (Trainer& trainer : trainers)
            trainer.request = GetParam() == std::string(PACE_POLICY_ALL_REDUCE)
                                  ? trainer.worker.reduce()
                                  : trainer.worker.average(1);
        const auto at = std::chrono::steady_clock::now() + delay;
        while (std::chrono::steady_clock::now() < at) continue;
        cluster_.daemon(0).signal(SIGTERM);
        std::vector<const Trainer*> as_called;
        for (Trainer& trainer : trainers)
            if (trainer.worker.wait(trainer.request) == PACE_E_DAEMON_GONE &&
                trainer.worker.info().contents == PACE_CONTENTS_AS_CALLED)
                as_called.push_back(&trainer);
        EXPECT_EQ(cluster_.daemon(0).wait(soon()), 0) << cluster_.logs();
        EXPECT_EQ(held.worker.wait(held.request), PACE_E_DAEMON_GONE);
        cluster_.daemon(1).signal(SIGCONT);
        return static_cast<int>(
            std::count_if(as_called.begin(), as_called.end(),
                          [](const Trainer* trainer) { return !trainer->has_what_it_left(); }));
    }

    Cluster cluster_{{.nodes = 2}};
};

TEST_P(StoppedDaemon, WritesNothingAfterTheTrainersWereTold) {
    for (int stop = 0; stop < kStops; ++stop) {
        EXPECT_EQ(stop_during_a_call(std::chrono::microseconds(100 * stop)), 0) << stop;
        cluster_.start_daemon(0);
    }
}

INSTANTIATE_TEST_SUITE_P(Policies, StoppedDaemon,
                         ::testing::Values(PACE_POLICY_ALL_REDUCE, PACE_POLICY_PARTIAL_REDUCE));

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

// GoogleTest looks for this name.
void PrintTo(  // NOLINT(readability-identifier-naming)
    const Family& family, std::ostream* out) {
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
