// GPU group tests: sums of buffers on several GPUs, of one node and of several nodes. The sums go
// from GPU to GPU where NCCL is present. Otherwise they go through the hosts.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/harness/loop_fixture.h"
#include "tests/cluster/trainers/gpu_fixture.h"

namespace pace::cluster {
namespace {

// The node of a worker, and the number of the GPU that has its buffers.
struct At {
    size_t node = 0;
    uint32_t gpu = 0;
};

// Set before the driver is asked. The simulated driver has this number of GPUs.
const int four_gpus = setenv("PACE_SIMULATED_GPUS", "4", 1);

// Larger than the sizes that go through the hosts.
constexpr uint64_t kGroupCount = 100'003;
// The limit of rounds until the GPUs are connected.
constexpr int kRoundsMax = 400;

class GpuGroupsTest : public Gpu {
  protected:
    void SetUp() override {
        Gpu::SetUp();
        if (IsSkipped()) return;
        if (const std::string why = TestGpu::too_few(3); !why.empty()) GTEST_SKIP() << why;
        Cluster cluster({.controller = false, .daemon_flags = flags()});
        const std::string document = cluster.pacectl(0, {"daemon", "--json"});
        if (document.find("nccl_absent") != std::string::npos) GTEST_SKIP() << document;
    }

    GpuWorkers open(const Cluster& cluster, WorkerOptions options, const std::vector<At>& places,
                    const std::vector<int32_t>& types = {PACE_F32}) {
        GpuWorkers workers;
        options.world = static_cast<uint32_t>(places.size());
        for (const At& place : places) {
            options.endpoint = cluster.endpoint(place.node);
            options.rank = static_cast<uint32_t>(workers.size());
            workers.push_back(std::make_unique<GpuWorker>(options, place.gpu));
            for (const int32_t type : types)
                EXPECT_NE(workers.back()->add_buffer(type, kGroupCount), nullptr)
                    << workers.back()->error().message;
        }
        return workers;
    }
    // Makes one round. Each worker contributes a ramp that begins at a number made of `round` and
    // its rank.
    void sum(GpuWorkers& workers, int round, const Cluster& cluster) {
        std::vector<pace_request> requests(workers.size());
        float first = 0;
        for (size_t rank = 0; rank < workers.size(); ++rank) {
            const float own = static_cast<float>(rank * 10 + static_cast<size_t>(round % 10));
            first += own;
            workers[rank]->fill(0, ramp(kGroupCount, own));
            ASSERT_EQ(workers[rank]->reduce(requests[rank]), PACE_OK)
                << workers[rank]->error().message;
        }
        const auto members = static_cast<float>(workers.size());
        for (size_t rank = 0; rank < workers.size(); ++rank) {
            ASSERT_EQ(workers[rank]->wait_on_stream(requests[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            const std::vector<float> sums = workers[rank]->values(0);
            for (uint64_t i = 0; i < kGroupCount; ++i)
                ASSERT_EQ(sums[i], first + static_cast<float>(i) * members) << rank << " " << i;
        }
    }
    int64_t among_gpus(Cluster& cluster, size_t node) {
        return number_in(cluster.pacectl(node, {"daemon", "--json"}), "sums_among_gpus");
    }
    // Returns whether sums go from GPU to GPU in the end.
    bool sums_until_among_gpus(GpuWorkers& workers, Cluster& cluster, size_t node) {
        const int64_t before = among_gpus(cluster, node);
        for (int round = 0; round < kRoundsMax && !HasFatalFailure(); ++round) {
            sum(workers, round, cluster);
            if (among_gpus(cluster, node) >= before + 3) return true;
        }
        return false;
    }
};

TEST_F(GpuGroupsTest, SumsAmongNodesGoFromGpuToGpu) {
    Cluster cluster({.nodes = 3, .daemon_flags = flags()});
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {1, 1}, {2, 2}});
    EXPECT_TRUE(sums_until_among_gpus(workers, cluster, 0)) << cluster.logs();
    EXPECT_GT(among_gpus(cluster, 2), 0);
}

TEST_F(GpuGroupsTest, SumsAmongTheGpusOfANodeDo) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    // Two trainers share a GPU. Their contributions are summed on this GPU first.
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {0, 1}, {0, 0}});
    EXPECT_TRUE(sums_until_among_gpus(workers, cluster, 0)) << cluster.logs();
}

TEST_F(GpuGroupsTest, SumsOfNodesWithSeveralGpusDo) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {1, 2}, {0, 1}, {1, 2}});
    EXPECT_TRUE(sums_until_among_gpus(workers, cluster, 1)) << cluster.logs();
}

TEST_F(GpuGroupsTest, MeansOfAllTypesAreRoundedOnce) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    const std::vector<int32_t> types{PACE_F32, PACE_F64, PACE_F16, PACE_BF16};
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {1, 1}}, types);
    std::vector<pace_request> requests(2);
    for (int round = 0; round < kRoundsMax && among_gpus(cluster, 0) < 2; ++round) {
        for (size_t rank = 0; rank < 2; ++rank) {
            // The unscaled sum of the third buffer would be infinite as a half.
            workers[rank]->fill(0, std::vector<float>(kGroupCount, rank == 0 ? 3.0F : 4.0F));
            workers[rank]->fill_with(1,
                                     std::vector<double>(kGroupCount, rank == 0 ? 3e300 : 4e300));
            workers[rank]->fill_with(2, std::vector<uint16_t>(kGroupCount, 0x7BFF));  // 65504
            workers[rank]->fill_with(3, std::vector<uint16_t>(kGroupCount, 0x3F80));  // 1
            ASSERT_EQ(workers[rank]->reduce(requests[rank], PACE_OP_MEAN), PACE_OK)
                << workers[rank]->error().message;
        }
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            EXPECT_EQ(workers[rank]->values(0), std::vector<float>(kGroupCount, 3.5F));
            EXPECT_EQ(workers[rank]->values_of<double>(1),
                      std::vector<double>(kGroupCount, 3.5e300));
            EXPECT_EQ(workers[rank]->values_of<uint16_t>(2),
                      std::vector<uint16_t>(kGroupCount, 0x7BFF));
            EXPECT_EQ(workers[rank]->values_of<uint16_t>(3),
                      std::vector<uint16_t>(kGroupCount, 0x3F80));
        }
    }
    EXPECT_GE(among_gpus(cluster, 0), 2) << cluster.logs();
}

TEST_F(GpuGroupsTest, AveragesInGroupsDo) {
    Cluster cluster({.nodes = 3, .daemon_flags = flags()});
    GpuWorkers workers =
        open(cluster,
             {.policy = PACE_POLICY_PARTIAL_REDUCE,
              .group_size = 2,
              .tune = [](AskedSession& job) { job.set(PACE_OPT_AVERAGE_WEIGHTS, "constant"); }},
             {{0, 0}, {1, 1}, {2, 2}});
    // Two workers average at a time, in turn. So there are three communicators as the groups come
    // and go.
    std::vector<pace_request> requests(3);
    uint64_t iteration = 1;
    for (; iteration < kRoundsMax; ++iteration) {
        const size_t left_out = iteration % 3;
        for (size_t rank = 0; rank < 3; ++rank) {
            if (rank == left_out) continue;
            workers[rank]->fill(0, std::vector<float>(kGroupCount, static_cast<float>(rank)));
            ASSERT_EQ(workers[rank]->average(requests[rank], iteration), PACE_OK)
                << workers[rank]->error().message;
        }
        float mean = 0;
        for (size_t rank = 0; rank < 3; ++rank)
            if (rank != left_out) mean += static_cast<float>(rank) / 2;
        for (size_t rank = 0; rank < 3; ++rank) {
            if (rank == left_out) continue;
            ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            ASSERT_EQ(workers[rank]->values(0), std::vector<float>(kGroupCount, mean));
        }
        if (among_gpus(cluster, 0) > 3 && among_gpus(cluster, 2) > 3) break;
    }
    EXPECT_LT(iteration, static_cast<uint64_t>(kRoundsMax)) << cluster.logs();
}

TEST_F(GpuGroupsTest, OneGpuOfSeveralNodesAndBuffersOnAHostGoByTheHosts) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    GpuWorkers sharing = open(cluster, {.job = "sharing"}, {{0, 0}, {1, 0}});
    for (int round = 0; round < 5; ++round) sum(sharing, round, cluster);
    EXPECT_EQ(among_gpus(cluster, 0), 0);

    WorkerOptions options{.job = "mixed", .world = 2};
    options.endpoint = cluster.endpoint(0);
    GpuWorker there(options, 0);
    options.endpoint = cluster.endpoint(1);
    options.rank = 1;
    Worker host(options);
    ASSERT_NE(there.add_buffer(PACE_F32, kGroupCount), nullptr) << there.error().message;
    const float* const values = host.add_floats(kGroupCount, 2);
    for (int round = 1; round <= 3; ++round) {
        there.fill(0, std::vector<float>(kGroupCount, 1));
        pace_request request{};
        ASSERT_EQ(there.reduce(request), PACE_OK) << there.error().message;
        host.finish(host.reduce());
        ASSERT_EQ(there.wait(request), PACE_OK) << there.error().message;
        EXPECT_EQ(there.values(0)[kGroupCount - 1], values[0]);
        EXPECT_EQ(values[0], static_cast<float>(2 + round));
    }
    EXPECT_EQ(among_gpus(cluster, 1), 0);
}

// NCCL would refuse them, and be asked again and again.
TEST_F(GpuGroupsTest, InstancesOfOneGpuGoByTheHostsAndNcclIsNotAsked) {
#ifndef PACE_SIMULATED_GPU_FOLDER
    GTEST_SKIP() << "the machine's GPUs would have to be instances of one";
#endif
    setenv("PACE_SIMULATED_GPU_INSTANCES", "1", 1);
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    unsetenv("PACE_SIMULATED_GPU_INSTANCES");
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {1, 1}});
    for (int round = 0; round < 5; ++round) sum(workers, round, cluster);
    EXPECT_EQ(among_gpus(cluster, 0), 0);
    EXPECT_EQ(cluster.logs().find("go by way of the hosts"), std::string::npos) << cluster.logs();
}

TEST_F(GpuGroupsTest, WithoutNcclTheySayWhyAndGoByTheHosts) {
    std::vector<std::string> off = flags();
    off.insert(off.end(), {"--nccl", "off"});
    Cluster cluster({.nodes = 2, .daemon_flags = off});
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {1, 1}});
    for (int round = 0; round < 5; ++round) sum(workers, round, cluster);
    EXPECT_EQ(among_gpus(cluster, 0), 0);
    EXPECT_NE(cluster.logs().find("without NCCL"), std::string::npos) << cluster.logs();
}

TEST_F(GpuGroupsTest, CommunicatorsAreMadeAgainWhenThereIsNoRoomForAll) {
    std::vector<std::string> few = flags();
    few.insert(few.end(), {"--nccl-communicators", "1"});
    Cluster cluster({.nodes = 2, .daemon_flags = few});
    GpuWorkers first = open(cluster, {.job = "first"}, {{0, 0}, {1, 1}});
    GpuWorkers second = open(cluster, {.job = "second"}, {{0, 2}, {1, 1}});
    for (int turn = 0; turn < 2; ++turn) {
        EXPECT_TRUE(sums_until_among_gpus(first, cluster, 0)) << cluster.logs();
        EXPECT_TRUE(sums_until_among_gpus(second, cluster, 0)) << cluster.logs();
    }
}

#ifdef PACE_SIMULATED_GPU_FOLDER

// The test runs for one node and for two nodes.
TEST_F(GpuGroupsTest, WhatNcclFailsWithIsSaidAndSummedByTheHosts) {
    setenv("PACE_SIMULATED_NCCL_FAIL", "ncclAllReduce:5", 1);
    for (const At& second : {At{0, 1}, At{1, 1}}) {
        Cluster cluster({.nodes = 2, .daemon_flags = flags()});
        GpuWorkers workers = open(cluster, {}, {{0, 0}, second});
        for (int round = 0; round < 40 && !HasFatalFailure(); ++round) sum(workers, round, cluster);
        const int64_t before = among_gpus(cluster, 0);
        EXPECT_GT(before, 0);
        for (int round = 0; round < 5 && !HasFatalFailure(); ++round) sum(workers, round, cluster);
        EXPECT_EQ(among_gpus(cluster, 0), before);
        const std::string logs = cluster.logs();
        EXPECT_NE(logs.find("sums among some GPUs go by way of the hosts"), std::string::npos)
            << logs;
    }
    unsetenv("PACE_SIMULATED_NCCL_FAIL");
}

// NCCL opens a port for the id of a communicator, and the driver finds scratch: both take long.
TEST_F(GpuGroupsTest, ASlowNcclAndDriverStopNoLoop) {
    setenv("PACE_SIMULATED_NCCL_SLOW", "ncclGetUniqueId:300000", 1);
    setenv("PACE_SIMULATED_GPU_SLOW", "cuMemCreate:300000", 1);
    for (const At& second : {At{0, 1}, At{1, 1}}) {
        Cluster cluster({.nodes = 2, .daemon_flags = flags()});
        GpuWorkers workers = open(cluster, {}, {{0, 0}, second});
        EXPECT_TRUE(sums_until_among_gpus(workers, cluster, 0)) << cluster.logs();
        expect_calm(cluster, 2);
    }
    unsetenv("PACE_SIMULATED_NCCL_SLOW");
    unsetenv("PACE_SIMULATED_GPU_SLOW");
}

// The number of a communicator is of no use if the other node's library does not accept it.
TEST_F(GpuGroupsTest, NodesOfSeveralVersionsOfNcclGoByTheHosts) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    cluster.daemon(1).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(1).wait(soon()));
    setenv("PACE_SIMULATED_NCCL_VERSION", "22203", 1);
    cluster.start_daemon(1);
    unsetenv("PACE_SIMULATED_NCCL_VERSION");
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {1, 1}});
    for (int round = 0; round < 5; ++round) sum(workers, round, cluster);
    EXPECT_EQ(among_gpus(cluster, 0), 0);
    EXPECT_NE(cluster.pacectl(0, {"status"}).find("2.22.3"), std::string::npos);
}

#endif

TEST_F(GpuGroupsTest, ANodeThatBeganAnewIsConnectedAgain) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    GpuWorkers workers = open(cluster, {}, {{0, 0}, {1, 1}});
    ASSERT_TRUE(sums_until_among_gpus(workers, cluster, 0)) << cluster.logs();
    cluster.daemon(1).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(1).wait(soon()));
    cluster.start_daemon(1);
    // Each worker calls again when its call has ended, because the other node's worker is back some
    // rounds later.
    const int64_t before = among_gpus(cluster, 1);
    std::vector<pace_request> requests(2);
    std::vector<bool> waits(2);
    for (const Deadline end = soon();
         std::chrono::steady_clock::now() < end && among_gpus(cluster, 1) < before + 3;) {
        for (size_t rank = 0; rank < 2; ++rank) {
            if (!waits[rank]) {
                workers[rank]->fill(0, std::vector<float>(kGroupCount, 1));
                ASSERT_EQ(workers[rank]->reduce(requests[rank]), PACE_OK)
                    << workers[rank]->error().message;
            }
            const pace_status status = workers[rank]->wait(requests[rank], 1);
            waits[rank] = status == PACE_TIMEOUT;
            if (waits[rank]) continue;
            if (status == PACE_STALE) {
                // The worker has missed rounds, so it takes the other worker's model.
                ASSERT_EQ(workers[rank]->broadcast(requests[rank], 0), PACE_OK);
                waits[rank] = true;
                continue;
            }
            if (workers[rank]->info().divisor == 0) continue;  // the broadcast has ended
            ASSERT_EQ(status, PACE_OK) << workers[rank]->error().message << cluster.logs();
            const std::vector<float> sums = workers[rank]->values(0);
            EXPECT_TRUE(sums[0] == 1 || sums[0] == 2) << sums[0];
            EXPECT_EQ(sums, std::vector<float>(kGroupCount, sums[0]));
        }
    }
    EXPECT_GE(among_gpus(cluster, 1), before + 3) << cluster.logs();
}

}  // namespace
}  // namespace pace::cluster
