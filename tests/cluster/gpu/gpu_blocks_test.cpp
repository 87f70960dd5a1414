// GPU block tests: small buffers on a GPU share blocks of its memory, with real daemons.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/cluster/trainers/gpu_blocks_fixture.h"

namespace pace::cluster {
namespace {

TEST_F(GpuBlocks, ManySmallBuffersTakeTheMemoryThatTheyHold) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    const int64_t all = free_bytes(cluster, 0);
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 1}, 0);
    for (auto& worker : workers) add_many(*worker);
    for (size_t node = 0; node < 2; ++node) expect_used(cluster, node, all, 8);

    for (int round = 1; round <= 2; ++round) {
        std::vector<pace_request> requests(2);
        for (size_t rank = 0; rank < 2; ++rank) {
            for (size_t i = 0; i < kManySmall; ++i)
                workers[rank]->fill(i, ramp(kSmallFloats, static_cast<float>(2 * rank + i) *
                                                              static_cast<float>(round)));
            ASSERT_EQ(workers[rank]->reduce(requests[rank], PACE_OP_MEAN), PACE_OK)
                << workers[rank]->error().message;
        }
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            for (size_t i = 0; i < kManySmall; ++i)
                ASSERT_EQ(workers[rank]->values(i),
                          ramp(kSmallFloats, static_cast<float>(1 + i) * static_cast<float>(round)))
                    << rank << " " << i;
        }
    }

    std::mt19937 random(3);
    for (auto& worker : workers) {
        std::vector<size_t> order(kManySmall);
        std::iota(order.begin(), order.end(), size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        for (const size_t i : order) ASSERT_EQ(free_one(*worker, i), PACE_OK);
    }
    workers.clear();
    for (size_t node = 0; node < 2; ++node) expect_used(cluster, node, all, 0);
}

TEST_F(GpuBlocks, ABlockGoesWithTheLastBufferThere) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const int64_t all = free_bytes(cluster, 0);
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    add_many(*workers[0], 33);
    expect_used(cluster, 0, all, 2);
    for (size_t i = 1; i < 33; ++i) ASSERT_EQ(free_one(*workers[0], i), PACE_OK);
    expect_used(cluster, 0, all, 1);
    ASSERT_EQ(free_one(*workers[0], 0), PACE_OK);
    expect_used(cluster, 0, all, 0);
}

TEST_F(GpuBlocks, ABufferThatLiesWhereAnotherLayIsZero) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    GpuWorker& worker = *workers[0];
    add_many(worker, 3);
    for (size_t i = 0; i < 3; ++i) worker.fill(i, std::vector<float>(kSmallFloats, 7));
    void* const place = data_of(worker, 1);
    // The copies to the GPU may still be queued.
    ASSERT_EQ(free_one(worker, 1), PACE_OK);
    ASSERT_EQ(worker.add_buffer(PACE_F32, kSmallFloats - 5), place) << worker.error().message;
    EXPECT_EQ(worker.values(3), std::vector<float>(kSmallFloats - 5, 0));
    for (const size_t neighbour : {0, 2})
        EXPECT_EQ(worker.values(neighbour), std::vector<float>(kSmallFloats, 7));
}

// A place is free again at once, so that a trainer at its limit can go on.
TEST_F(GpuBlocks, ATrainerAtItsLimitGetsAPlaceForEachThatItGivesBack) {
    Cluster cluster({.nodes = 1, .daemon_flags = with_limit("4MiB")});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    GpuWorker& worker = *workers[0];
    add_many(worker, 64);
    EXPECT_EQ(worker.add_buffer(PACE_F32, 1), nullptr);
    EXPECT_EQ(worker.error().status, PACE_E_LIMIT) << worker.error().message;
    for (size_t i = 0; i < 64; ++i) {
        ASSERT_EQ(free_one(worker, i), PACE_OK);
        ASSERT_NE(worker.add_buffer(PACE_F32, kSmallFloats), nullptr) << worker.error().message;
    }
    EXPECT_EQ(worker.add_buffer(PACE_F32, 1), nullptr);
    for (size_t i = 64; i < 96; ++i) ASSERT_EQ(free_one(worker, i), PACE_OK);
    // The first block is gone, and paid back.
    ASSERT_NE(worker.add_buffer(PACE_F32, size_t{2} << 18U), nullptr) << worker.error().message;
}

TEST_F(GpuBlocks, ATensorKeepsItsPlace) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    GpuWorker& worker = *workers[0];
    add_many(worker, 2);
    worker.fill(0, ramp(kSmallFloats, 1));
    void* managed = nullptr;
    pace_error error{};
    const pace_status status =
        pace_buffer_to_dlpack(worker.session(), worker.buffer(0), 0, &managed, &error);
    if (status == PACE_E_UNSUPPORTED) GTEST_SKIP() << error.message;
    ASSERT_EQ(status, PACE_OK) << error.message;
    void* const place = data_of(worker, 0);
    ASSERT_EQ(free_one(worker, 0), PACE_OK);
    void* const other = worker.add_buffer(PACE_F32, kSmallFloats);
    ASSERT_NE(other, nullptr) << worker.error().message;
    EXPECT_NE(other, place);
    ASSERT_EQ(free_one(worker, 1), PACE_OK);
    ASSERT_EQ(free_one(worker, 2), PACE_OK);
    std::vector<float> kept(kSmallFloats);
    worker.gpu().read(kept.data(), place, kSmallFloats * sizeof(float), worker.stream());
    EXPECT_EQ(kept, ramp(kSmallFloats, 1)) << "the block is the daemon's no more";
    auto* const tensor = static_cast<Tensor*>(managed);
    EXPECT_EQ(tensor->data, place);
    tensor->deleter(tensor);
}

TEST_F(GpuBlocks, ASuccessorGetsADeadTrainersBuffersWithTheirBlock) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const int64_t all = free_bytes(cluster, 0);
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 0}, 0);
    add_many(*workers[0], 3);
    for (size_t i = 0; i < 3; ++i) {
        workers[0]->fill(i, ramp(kSmallFloats, static_cast<float>(10 * i)));
        ASSERT_EQ(workers[0]->values(i), ramp(kSmallFloats, static_cast<float>(10 * i)));
    }
    workers[0]->worker().drop();
    workers[0] = std::make_unique<GpuWorker>(
        WorkerOptions{.endpoint = cluster.endpoint(0), .rank = 0, .world = 2});
    for (auto& worker : workers) {
        add_many(*worker, 2);
        // For the successor it is new, and not placed beside the third that is still kept.
        ASSERT_NE(worker->add_buffer(PACE_F32, kSmallFloats / 2), nullptr)
            << worker->error().message;
    }
    GpuWorker& successor = *workers[0];
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(is_restored(successor, i));
        EXPECT_EQ(successor.values(i), ramp(kSmallFloats, static_cast<float>(10 * i)));
    }
    EXPECT_FALSE(is_restored(successor, 2));
    EXPECT_EQ(successor.values(2), std::vector<float>(kSmallFloats / 2, 0));
    expect_used(cluster, 0, all, 3);

    // There was no round yet, so the successor gives its model.
    std::vector<pace_request> requests(2);
    for (const bool sums : {false, true}) {
        for (size_t rank = 0; rank < 2; ++rank)
            ASSERT_EQ(sums ? workers[rank]->reduce_one(requests[rank], 0)
                           : workers[rank]->broadcast(requests[rank], 0),
                      PACE_OK)
                << workers[rank]->error().message;
        for (size_t rank = 0; rank < 2; ++rank)
            ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
    }
    for (auto& worker : workers) {
        std::vector<float> twice = ramp(kSmallFloats, 0);
        for (float& value : twice) value *= 2;
        EXPECT_EQ(worker->values(0), twice);
        EXPECT_EQ(worker->values(1), ramp(kSmallFloats, 10)) << "the neighbour is not summed";
    }
    workers.clear();
    expect_used(cluster, 0, all, 0);
}

// Blocks are handed once, and charged once: the buffers would not have room otherwise.
TEST_F(GpuBlocks, ARestartedDaemonTakesTheBlocksOver) {
    Cluster cluster({.nodes = 1, .daemon_flags = with_limit("8MiB")});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    GpuWorker& worker = *workers[0];
    add_many(worker, 64);
    for (size_t i = 0; i < 64; ++i) worker.fill(i, ramp(kSmallFloats, static_cast<float>(i)));
    for (int restart = 1; restart <= 2; ++restart) {
        cluster.daemon(0).signal(SIGKILL);
        ASSERT_TRUE(cluster.daemon(0).wait(soon()));
        cluster.start_daemon(0);
        // The session reconnects with the first call.
        ASSERT_NE(worker.add_buffer(PACE_F32, kSmallFloats), nullptr) << worker.error().message;
        for (size_t i = 0; i < 64; ++i)
            ASSERT_EQ(worker.values(i), ramp(kSmallFloats, static_cast<float>(i))) << i;
    }
    pace_request request{};
    ASSERT_EQ(worker.reduce(request), PACE_OK) << worker.error().message;
    ASSERT_EQ(worker.wait(request), PACE_OK) << worker.error().message << cluster.logs();
    for (size_t i = 0; i < 64; ++i)
        ASSERT_EQ(worker.values(i), ramp(kSmallFloats, static_cast<float>(i))) << i;
    // A gap in a block that was taken over is not used: a tensor may be there.
    void* const place = data_of(worker, 5);
    ASSERT_EQ(free_one(worker, 5), PACE_OK);
    void* const other = worker.add_buffer(PACE_F32, kSmallFloats);
    ASSERT_NE(other, nullptr) << worker.error().message;
    EXPECT_NE(other, place);
    EXPECT_EQ(worker.values(66), std::vector<float>(kSmallFloats, 0));
    for (size_t i = 6; i < 64; ++i) ASSERT_EQ(free_one(worker, i), PACE_OK);
}

TEST_F(GpuBlocks, LargerBuffersHaveMemoryOfTheirOwn) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const int64_t all = free_bytes(cluster, 0);
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    ASSERT_NE(workers[0]->add_buffer(PACE_F32, 64), nullptr);
    ASSERT_NE(workers[0]->add_buffer(PACE_F32, 64), nullptr);
    expect_used(cluster, 0, all, 1);
    ASSERT_NE(workers[0]->add_buffer(PACE_F32, (size_t{1} << 18U) + 1), nullptr);
    expect_used(cluster, 0, all, 2);
}

#ifdef PACE_SIMULATED_GPU_FOLDER
TEST_F(GpuBlocks, APlaceThatCannotBeClearedIsGivenBack) {
    setenv("PACE_SIMULATED_GPU_FAIL", "cuMemsetD8Async:2", 1);
    Cluster cluster({.nodes = 1, .daemon_flags = with_limit("2MiB")});
    unsetenv("PACE_SIMULATED_GPU_FAIL");
    const int64_t all = free_bytes(cluster, 0);
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    add_many(*workers[0], 1);
    EXPECT_EQ(workers[0]->add_buffer(PACE_F32, kSmallFloats), nullptr);
    EXPECT_NE(workers[0]->error().status, PACE_E_LIMIT) << workers[0]->error().message;
    ASSERT_EQ(free_one(*workers[0], 0), PACE_OK);
    expect_used(cluster, 0, all, 0);
    EXPECT_EQ(workers[0]->add_buffer(PACE_F32, kSmallFloats), nullptr);
    EXPECT_NE(workers[0]->error().status, PACE_E_LIMIT) << workers[0]->error().message;
}
#endif

}  // namespace
}  // namespace pace::cluster
