// GPU tests: buffers on GPUs, with real daemons. Trainers write contributions, sum, average and
// read results, in the order of their streams.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/trainers/gpu_fixture.h"

namespace pace::cluster {
namespace {

TEST_F(Gpu, GradientsAreSummedInTheOrderOfTheStreams) {
    constexpr uint64_t kCount = 5000;
    for (const std::vector<size_t>& nodes :
         {std::vector<size_t>{0, 0, 0}, std::vector<size_t>{0, 1, 0, 1}}) {
        Cluster cluster({.nodes = 2, .daemon_flags = flags()});
        GpuWorkers workers = open_gpu_workers(cluster, {}, nodes, kCount);
        for (int round = 0; round < 5; ++round) {
            std::vector<pace_request> requests(workers.size());
            for (size_t rank = 0; rank < workers.size(); ++rank) {
                // No thread waits for these copies, because the call is ordered behind them.
                const std::vector<float> values =
                    ramp(kCount, static_cast<float>(rank * 10 + static_cast<size_t>(round)));
                workers[rank]->fill(0, values);
                ASSERT_EQ(workers[rank]->reduce(requests[rank]), PACE_OK)
                    << workers[rank]->error().message;
            }
            float first = 0;
            for (size_t rank = 0; rank < workers.size(); ++rank)
                first += static_cast<float>(rank * 10 + static_cast<size_t>(round));
            for (size_t rank = 0; rank < workers.size(); ++rank) {
                const bool on_stream = (rank + static_cast<size_t>(round)) % 2 == 0;
                ASSERT_EQ(on_stream ? workers[rank]->wait_on_stream(requests[rank])
                                    : workers[rank]->wait(requests[rank]),
                          PACE_OK)
                    << workers[rank]->error().message << cluster.logs();
                const std::vector<float> sum = workers[rank]->values(0);
                for (uint64_t i = 0; i < kCount; ++i)
                    ASSERT_EQ(sum[i],
                              first + static_cast<float>(i) * static_cast<float>(nodes.size()))
                        << rank << " " << i;
            }
        }
    }
}

// The contribution is made on the stream just before the call. The result is read, and contributed
// again, at once. The two buffers take turns.
TEST_F(Gpu, ResultsGoToOtherBuffers) {
    constexpr uint64_t kCount = 100'003;
    for (const std::vector<size_t>& nodes :
         {std::vector<size_t>{0, 0}, std::vector<size_t>{0, 1}}) {
        Cluster cluster({.nodes = 2, .daemon_flags = flags()});
        GpuWorkers workers = open_gpu_workers(cluster, {}, nodes, kCount);
        for (auto& worker : workers) ASSERT_NE(worker->add_buffer(PACE_F32, kCount), nullptr);
        for (size_t rank = 0; rank < 2; ++rank)
            workers[rank]->fill(0, ramp(kCount, static_cast<float>(rank)));
        std::vector<float> wanted = ramp(kCount, 0);
        for (size_t turn = 0; turn < 4; ++turn) {
            const std::vector<float> first = workers[0]->values(turn % 2);
            std::vector<pace_request> requests(2);
            for (size_t rank = 0; rank < 2; ++rank)
                ASSERT_EQ(workers[rank]->reduce_into(requests[rank], turn % 2, 1 - turn % 2),
                          PACE_OK)
                    << workers[rank]->error().message;
            for (size_t rank = 0; rank < 2; ++rank)
                ASSERT_EQ(workers[rank]->wait_on_stream(requests[rank]), PACE_OK)
                    << workers[rank]->error().message << cluster.logs();
            for (float& value : wanted) value = turn == 0 ? 2 * value + 1 : 2 * value;
            EXPECT_EQ(workers[0]->values(1 - turn % 2), wanted) << turn;
            EXPECT_EQ(workers[1]->values(1 - turn % 2), wanted) << turn;
            EXPECT_EQ(workers[0]->values(turn % 2), first) << turn;
        }
    }
}

TEST_F(Gpu, ResultsElsewhereThanWhatIsGivenAreRefused) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorker worker({.endpoint = cluster.endpoint(0)});
    ASSERT_NE(worker.add_buffer(PACE_F32, 64), nullptr) << worker.error().message;
    ASSERT_NE(worker.add_buffer(PACE_F32, 64, {}), nullptr) << worker.error().message;
    pace_request request{};
    EXPECT_EQ(worker.reduce_into(request, 0, 1), PACE_E_INVALID);
    EXPECT_NE(std::string(worker.error().message).find("results[0] is not where slices[0] is"),
              std::string::npos)
        << worker.error().message;
}

// A framework keeps its tensors, whatever becomes of the session.
TEST_F(Gpu, TensorsOutliveTheirBufferAndSession) {
    constexpr uint64_t kCount = 3000;
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    auto worker = std::make_unique<GpuWorker>(WorkerOptions{.endpoint = cluster.endpoint(0)});
    ASSERT_NE(worker->add_buffer(PACE_F32, kCount), nullptr) << worker->error().message;
    worker->fill(0, ramp(kCount, 4));
    ASSERT_EQ(worker->values(0), ramp(kCount, 4));
    void* managed = nullptr;
    pace_error error{};
    const pace_status status =
        pace_buffer_to_dlpack(worker->session(), worker->buffer(0), 0, &managed, &error);
    if (status == PACE_E_UNSUPPORTED) GTEST_SKIP() << error.message;
    ASSERT_EQ(status, PACE_OK) << error.message;
    auto* const tensor = static_cast<Tensor*>(managed);
    EXPECT_EQ(tensor->device.type, PACE_DEVICE_CUDA);
    EXPECT_EQ(tensor->device.id, 0);
    worker.reset();
    cluster.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    TestGpu gpu;
    std::vector<float> kept(kCount);
    gpu.read(kept.data(), tensor->data, kCount * sizeof(float), gpu.stream());
    EXPECT_EQ(kept, ramp(kCount, 4));
    tensor->deleter(tensor);
}

bool is_readable(int fd, int timeout_ms) {
    pollfd waiting{fd, POLLIN, 0};
    return poll(&waiting, 1, timeout_ms) == 1;
}

// The test covers results that arrive in pieces, and results that are made on the GPU.
TEST_F(Gpu, TheDescriptorTellsOfResultsThatAreThere) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    for (const std::vector<size_t>& nodes :
         {std::vector<size_t>{0, 0}, std::vector<size_t>{0, 1}}) {
        GpuWorkers workers = open_gpu_workers(cluster, {}, nodes, 1'500'000);
        const int fd = workers[0]->worker().ready_fd();
        for (int round = 0; round < 5; ++round) {
            std::vector<pace_request> requests(2);
            for (size_t rank = 0; rank < 2; ++rank)
                ASSERT_EQ(workers[rank]->reduce(requests[rank]), PACE_OK)
                    << workers[rank]->error().message;
            ASSERT_TRUE(is_readable(fd, 30000)) << cluster.logs();
            pace_request ended{};
            pace_request_info info = PACE_REQUEST_INFO_INIT;
            pace_error error{};
            ASSERT_EQ(pace_session_next(workers[0]->session(), 0, nullptr, &ended, &info, &error),
                      PACE_OK)
                << error.message;
            EXPECT_EQ(ended.id, requests[0].id);
            EXPECT_FALSE(is_readable(fd, 0));
            ASSERT_EQ(workers[1]->wait(requests[1]), PACE_OK) << workers[1]->error().message;
        }
    }
}

TEST_F(Gpu, HostAndDeviceMeetInOneExchange) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    GpuWorker on_gpu({.endpoint = cluster.endpoint(0), .rank = 0, .world = 3});
    Worker here({.endpoint = cluster.endpoint(0), .rank = 1, .world = 3});
    Worker there({.endpoint = cluster.endpoint(1), .rank = 2, .world = 3});
    ASSERT_NE(on_gpu.add_buffer(PACE_F32, 100), nullptr) << on_gpu.error().message;
    const float* const first = here.add_floats(100, 2);
    const float* const second = there.add_floats(100, 4);
    on_gpu.fill(0, std::vector<float>(100, 1));
    pace_request request{};
    ASSERT_EQ(on_gpu.reduce(request), PACE_OK) << on_gpu.error().message;
    const pace_request one = here.reduce();
    there.finish(there.reduce());
    here.finish(one);
    ASSERT_EQ(on_gpu.wait_on_stream(request), PACE_OK) << on_gpu.error().message;
    EXPECT_EQ(on_gpu.values(0), std::vector<float>(100, 7));
    EXPECT_EQ(first[99], 7);
    EXPECT_EQ(second[0], 7);
}

// One member is on the host, and the buffers have several sizes.
TEST_F(Gpu, LargeSumsAmongNodesAreCopiedWhileTheyTravel) {
    constexpr uint64_t kMany = 1'500'001;
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {.world = 3}, {0, 1}, kMany);
    for (auto& worker : workers) ASSERT_NE(worker->add_buffer(PACE_F32, 777), nullptr);
    Worker host({.endpoint = cluster.endpoint(1), .rank = 2, .world = 3});
    const float* const first = host.add_floats(kMany, 0);
    host.add_floats(777, 0);
    std::vector<pace_request> requests(2);
    for (int round = 1; round <= 4; ++round) {
        for (size_t rank = 0; rank < 2; ++rank) {
            workers[rank]->fill(0, ramp(kMany, static_cast<float>(round)));
            workers[rank]->fill(1, ramp(777, static_cast<float>(rank)));
            ASSERT_EQ(workers[rank]->reduce(requests[rank]), PACE_OK)
                << workers[rank]->error().message;
        }
        const float before = first[kMany - 1];
        host.finish(host.reduce());
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers[rank]->wait_on_stream(requests[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            const std::vector<float> sums = workers[rank]->values(0);
            ASSERT_TRUE(std::equal(sums.begin(), sums.end(), first));
            EXPECT_EQ(workers[rank]->values(1)[776] - workers[rank]->values(1)[775],
                      2.0F + (round - 1) * 2.0F)
                << "on top of what the host had";
        }
        EXPECT_EQ(first[kMany - 1],
                  before + 2 * (static_cast<float>(kMany - 1) + static_cast<float>(round)));
    }
    EXPECT_EQ(number_in(cluster.pacectl(0, {"daemon", "--json"}), "sums_in_pieces"), 4);
}

// Returns the bytes of the host's memory that are there of a daemon's buffers and twins.
size_t bytes_of_twins(const Process& daemon) {
    std::ifstream maps("/proc/" + std::to_string(daemon.pid()) + "/smaps");
    size_t bytes = 0;
    bool is_buffer = false;
    for (std::string line; std::getline(maps, line);) {
        const bool is_mapping =
            line.find('-') != std::string::npos && line.find(" kB") == std::string::npos;
        if (is_mapping) is_buffer = line.find("/memfd:pace-buffer") != std::string::npos;
        if (is_buffer && line.starts_with("Rss:")) bytes += std::stoul(line.substr(4)) << 10U;
    }
    return bytes;
}

// Sums on one GPU never need the twins of buffers on the host. Sums by way of the hosts do.
TEST_F(Gpu, TwinsTakeMemoryWhenTheyAreNeeded) {
    constexpr uint64_t kCount = uint64_t{5} << 20U;
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    const auto sum = [&](const std::vector<size_t>& nodes, const std::string& job) {
        GpuWorkers workers = open_gpu_workers(cluster, {.job = job}, nodes, kCount);
        std::vector<pace_request> requests(2);
        for (size_t rank = 0; rank < 2; ++rank) {
            workers[rank]->fill(0, std::vector<float>(kCount, static_cast<float>(rank + 1)));
            ASSERT_EQ(workers[rank]->reduce(requests[rank]), PACE_OK);
        }
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            EXPECT_EQ(workers[rank]->values(0), std::vector<float>(kCount, 3));
        }
        const size_t there = bytes_of_twins(cluster.daemon(0));
        if (nodes[1] == 0)
            EXPECT_LT(there, kCount);
        else
            EXPECT_GE(there, kCount * sizeof(float));
    };
    sum({0, 0}, "here");
    sum({0, 1}, "apart");
}

TEST_F(Gpu, ModelsAreBroadcastAndAveraged) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(
        cluster, {.policy = PACE_POLICY_PARTIAL_REDUCE, .group_size = 2}, {0, 1}, 1000);
    std::vector<pace_request> requests(2);
    for (size_t rank = 0; rank < 2; ++rank) {
        workers[rank]->fill(0, ramp(1000, rank == 0 ? 5.0F : -1.0F));
        ASSERT_EQ(workers[rank]->broadcast(requests[rank], 0), PACE_OK);
    }
    for (size_t rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK) << workers[rank]->error().message;
        EXPECT_EQ(workers[rank]->values(0), ramp(1000, 5));
        workers[rank]->fill(0, std::vector<float>(1000, static_cast<float>(rank)));
        ASSERT_EQ(workers[rank]->average(requests[rank], 1), PACE_OK);
    }
    for (size_t rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(workers[rank]->wait_on_stream(requests[rank]), PACE_OK);
        EXPECT_EQ(workers[rank]->values(0), std::vector<float>(1000, 0.5F));
    }
}

// If all members are on one GPU of one node, nothing comes to the host. Otherwise something does.
TEST_F(Gpu, MembersOfOneGpuAreSummedThereWithAnyWeights) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(
        cluster,
        {.policy = PACE_POLICY_PARTIAL_REDUCE,
         .group_size = 3,
         .tune = [](AskedSession& job) { job.set(PACE_OPT_AVERAGE_WEIGHTS, "constant"); }},
        {0, 0, 0}, 777);
    std::vector<pace_request> requests(3);
    for (uint64_t iteration = 1; iteration <= 4; ++iteration) {
        for (size_t rank = 0; rank < 3; ++rank) {
            workers[rank]->fill(0, std::vector<float>(777, static_cast<float>(3 * rank)));
            ASSERT_EQ(workers[rank]->average(requests[rank], iteration), PACE_OK);
        }
        for (size_t rank = 0; rank < 3; ++rank) {
            ASSERT_EQ(workers[rank]->wait_on_stream(requests[rank]), PACE_OK)
                << workers[rank]->error().message;
            EXPECT_EQ(workers[rank]->values(0), std::vector<float>(777, 3));
        }
    }
    const std::string document = cluster.pacectl(0, {"daemon", "--json"});
    EXPECT_EQ(number_in(document, "sums_on_device"), 4) << document;
}

// A trainer that takes a rank again gets the model from the GPU of a trainer that went on. It gets
// the current model.
TEST_F(Gpu, ANewcomerGetsTheModelFromTheGpu) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const WorkerOptions options{.policy = PACE_POLICY_PARTIAL_REDUCE, .group_size = 2};
    GpuWorkers workers = open_gpu_workers(cluster, options, {0, 0, 0}, 50);
    std::vector<pace_request> requests(3);
    for (size_t rank = 0; rank < 3; ++rank) {
        workers[rank]->fill(0, std::vector<float>(50, 1));
        ASSERT_EQ(workers[rank]->broadcast(requests[rank], 0), PACE_OK);
    }
    for (size_t rank = 0; rank < 3; ++rank) ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK);
    workers[2].reset();
    WorkerOptions again = options;
    again.endpoint = cluster.endpoint(0);
    again.rank = 2;
    again.world = 3;
    GpuWorker newcomer(again);
    ASSERT_NE(newcomer.add_buffer(PACE_F32, 50), nullptr) << newcomer.error().message;
    pace_request wanted{};
    ASSERT_EQ(newcomer.broadcast(wanted, 0), PACE_OK) << newcomer.error().message;
    pace_status status = PACE_TIMEOUT;
    for (uint64_t iteration = 1; status == PACE_TIMEOUT && iteration < 1000; ++iteration) {
        for (size_t rank = 0; rank < 2; ++rank) {
            workers[rank]->fill(0, std::vector<float>(50, 9));
            ASSERT_EQ(workers[rank]->average(requests[rank], iteration), PACE_OK);
        }
        for (size_t rank = 0; rank < 2; ++rank)
            ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK)
                << workers[rank]->error().message;
        status = newcomer.wait(wanted, 1);
    }
    ASSERT_EQ(status, PACE_OK) << newcomer.error().message << cluster.logs();
    EXPECT_EQ(newcomer.values(0), std::vector<float>(50, 9));
}

TEST_F(Gpu, ADescriptionFitsOtherLibraries) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorker worker({.endpoint = cluster.endpoint(0)});
    void* const data = worker.add_buffer(PACE_F16, 12);
    ASSERT_NE(data, nullptr) << worker.error().message;
    pace_buffer_info info = PACE_BUFFER_INFO_INIT;
    pace_error error{};
    ASSERT_EQ(pace_buffer_get_info(worker.session(), worker.buffer(0), &info, &error), PACE_OK);
    EXPECT_EQ(info.data, data);
    EXPECT_EQ(info.count, 12U);
    EXPECT_EQ(info.device.type, PACE_DEVICE_CUDA);
    EXPECT_EQ(info.device.id, 0);
    EXPECT_EQ(info.dl_type_code, 2);
    EXPECT_EQ(info.dl_type_bits, 16);
    EXPECT_STREQ(info.typestr, "<f2");
    ASSERT_NE(worker.add_buffer(PACE_BF16, 3, pace_device{}), nullptr);
    ASSERT_EQ(pace_buffer_get_info(worker.session(), worker.buffer(1), &info, &error), PACE_OK);
    EXPECT_EQ(info.device.type, PACE_DEVICE_CPU);
    EXPECT_EQ(info.dl_type_code, 4);
    EXPECT_STREQ(info.typestr, "");
}

// Returns `pacectl status --json` of a cluster, once the status contains the words.
std::string status_with(Cluster& cluster, const std::string& words) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string status;
    do status = cluster.pacectl(0, {"status", "--json"});
    while (status.find(words) == std::string::npos && std::chrono::steady_clock::now() < end);
    EXPECT_NE(status.find(words), std::string::npos) << status;
    return status;
}

TEST_F(Gpu, AreInTheStatusWithTheMemoryInUse) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    EXPECT_GT(number_in(status_with(cluster, "\"memory_used_bytes\": "), "memory_bytes"), 0);
    constexpr uint64_t kCount = 1'000'000;
    const GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 1}, kCount);
    int64_t used = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (used < static_cast<int64_t>(kCount * sizeof(float)) &&
           std::chrono::steady_clock::now() < end) {
        const std::string now = cluster.pacectl(0, {"status", "--json"});
        if (now.find("\"memory_used_bytes\": null") == now.find("\"memory_used_bytes\": "))
            continue;
        used = number_in(now, "memory_used_bytes");
    }
    EXPECT_GE(used, static_cast<int64_t>(kCount * sizeof(float)));
}

}  // namespace
}  // namespace pace::cluster
