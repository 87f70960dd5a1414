// Buffers on GPUs, with real daemons: what trainers put there, sum, average and get back, in the order of their streams.
//
// The same tests run twice: with the simulated driver (tests/simulated_gpu) on every machine, and with the label gpu on one that has
// a GPU.
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster.h"
#include "gpu_worker.h"
#ifdef PACE_SIMULATED_GPU_FOLDER
#include "tests/simulated_gpu/simulated_gpu.h"
#endif

namespace pace::cluster {
namespace {

// Which driver this program and its daemons have; before anything else.
class Drivers : public testing::Environment {
  public:
    void SetUp() override {
#ifdef PACE_SIMULATED_GPU_FOLDER
        simulated_gpu::use_simulated_gpu();
        const std::string entry = simulated_gpu::environment_entry();
        const size_t equals = entry.find('=');
        setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
#endif
    }
};
const auto* const drivers = testing::AddGlobalTestEnvironment(new Drivers);

std::vector<std::string> flags() {
#ifdef PACE_SIMULATED_GPU_FOLDER
    return {"--plugins", simulated_gpu::kPlugins};
#else
    return {"--plugins", PACE_PLUGINS};
#endif
}

class Gpu : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string why = TestGpu::absence(); !why.empty()) GTEST_SKIP() << why;
    }
};

std::vector<float> ramp(size_t count, float first) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

using GpuWorkers = std::vector<std::unique_ptr<GpuWorker>>;

// One for each, on the node that is named.
GpuWorkers open_gpu_workers(const Cluster& cluster, WorkerOptions options,
                            const std::vector<size_t>& nodes, uint64_t count) {
    GpuWorkers workers;
    options.world = static_cast<uint32_t>(nodes.size());
    for (const size_t node : nodes) {
        options.endpoint = cluster.endpoint(node);
        options.rank = static_cast<uint32_t>(workers.size());
        workers.push_back(std::make_unique<GpuWorker>(options));
        if (count == 0) continue;
        GpuWorker& worker = *workers.back();
        EXPECT_NE(worker.add_buffer(PACE_F32, count), nullptr) << worker.error().message;
    }
    return workers;
}

TEST_F(Gpu, GradientsAreSummedInTheOrderOfTheStreams) {
    constexpr uint64_t kCount = 5000;
    for (const std::vector<size_t>& nodes :
         {std::vector<size_t>{0, 0, 0}, std::vector<size_t>{0, 1, 0, 1}}) {
        Cluster cluster({.nodes = 2, .daemon_flags = flags()});
        GpuWorkers workers = open_gpu_workers(cluster, {}, nodes, kCount);
        for (int round = 0; round < 5; ++round) {
            std::vector<pace_request> requests(workers.size());
            for (size_t rank = 0; rank < workers.size(); ++rank) {
                // Nobody waits for these copies: the call is ordered behind them.
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

// The number after this key in a JSON document; -1: there is none.
int64_t number_in(const std::string& document, const std::string& key) {
    const size_t at = document.find('"' + key + "\": ");
    return at == std::string::npos ? -1 : std::stoll(document.substr(at + key.size() + 4));
}

// Members on one GPU of one node: nothing comes to the host. With others it does.
TEST_F(Gpu, MembersOfOneGpuAreSummedThereWithAnyWeights) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(
        cluster,
        {.policy = PACE_POLICY_PARTIAL_REDUCE,
         .group_size = 3,
         .tune = [](pace_job_options& job) { job.weights = PACE_WEIGHTS_CONSTANT; }},
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

// A trainer that takes a rank again gets the model from the GPU of one that went on, as it is there by now.
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
    EXPECT_EQ(info.device, PACE_CUDA(0));
    EXPECT_EQ(info.dl_device_type, 2);
    EXPECT_EQ(info.dl_device_id, 0);
    EXPECT_EQ(info.dl_type_code, 2);
    EXPECT_EQ(info.dl_type_bits, 16);
    EXPECT_STREQ(info.typestr, "<f2");
    ASSERT_NE(worker.add_buffer(PACE_BF16, 3, 0), nullptr);
    ASSERT_EQ(pace_buffer_get_info(worker.session(), worker.buffer(1), &info, &error), PACE_OK);
    EXPECT_EQ(info.dl_device_type, 1);
    EXPECT_EQ(info.dl_type_code, 4);
    EXPECT_STREQ(info.typestr, "");
}

TEST_F(Gpu, ARestartedDaemonTakesTheMemoryOver) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 64);
    workers[0]->fill(0, ramp(64, 3));
    cluster.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    cluster.start_daemon(0);
    for (int round = 0; round < 2; ++round) {
        pace_request request{};
        ASSERT_EQ(workers[0]->reduce(request), PACE_OK) << workers[0]->error().message;
        ASSERT_EQ(workers[0]->wait(request), PACE_OK) << workers[0]->error().message;
        EXPECT_EQ(workers[0]->values(0), ramp(64, 3));
    }
}

TEST_F(Gpu, ACallWithoutItsResultInTimeIsWaitedForAgain) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 0}, 64);
    pace_request first{};
    pace_request second{};
    workers[0]->fill(0, std::vector<float>(64, 1));
    ASSERT_EQ(workers[0]->reduce(first), PACE_OK);
    EXPECT_EQ(workers[0]->wait(first, 0), PACE_TIMEOUT);
    workers[1]->fill(0, std::vector<float>(64, 1));
    ASSERT_EQ(workers[1]->reduce(second), PACE_OK);
    ASSERT_EQ(workers[1]->wait(second), PACE_OK);
    ASSERT_EQ(workers[0]->wait(first), PACE_OK);
    for (auto& worker : workers) EXPECT_EQ(worker->values(0), std::vector<float>(64, 2));
}

TEST_F(Gpu, ACanceledCallLeavesTheBuffers) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 0}, 64);
    workers[0]->fill(0, std::vector<float>(64, 8));
    pace_request request{};
    ASSERT_EQ(workers[0]->reduce(request), PACE_OK);
    pace_error error{};
    ASSERT_EQ(pace_request_cancel(workers[0]->session(), request, &error), PACE_OK);
    EXPECT_EQ(workers[0]->wait(request), PACE_CANCELED);
    EXPECT_EQ(workers[0]->values(0), std::vector<float>(64, 8));
}

TEST_F(Gpu, WhatIsWrongIsNamedAndTheDaemonServesOn) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorker worker({.endpoint = cluster.endpoint(0)});
    EXPECT_EQ(worker.add_buffer(PACE_F32, 10, PACE_CUDA(7)), nullptr);
    EXPECT_EQ(worker.error().status, PACE_E_INVALID);
    EXPECT_NE(std::string(worker.error().message).find("PACE_CUDA(7)"), std::string::npos);
    ASSERT_NE(worker.add_buffer(PACE_F32, 10), nullptr) << worker.error().message;
    // On the host, beside the one on the GPU.
    ASSERT_NE(worker.add_buffer(PACE_F32, 10, 0), nullptr);
    pace_request request{};
    EXPECT_EQ(worker.reduce(request), PACE_E_INVALID);
    EXPECT_NE(std::string(worker.error().message).find("buffers[1] is not where buffers[0] is"),
              std::string::npos)
        << worker.error().message;
    const std::string document = cluster.pacectl(0, {"daemon", "--json"});
    EXPECT_NE(document.find("\"kernels\""), std::string::npos) << document;
}

TEST_F(Gpu, WhatStreamsCannotOrderIsRefused) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorker worker({.endpoint = cluster.endpoint(0),
                      .world = 2,
                      .policy = PACE_POLICY_PARTIAL_REDUCE,
                      .group_size = 2});
    ASSERT_NE(worker.add_buffer(PACE_F32, 10), nullptr) << worker.error().message;
    pace_average_options options = PACE_AVERAGE_OPTIONS_INIT;
    options.keep_local = 1;
    pace_request request{};
    pace_error error{};
    EXPECT_EQ(pace_average(worker.session(), &worker.buffer(0), 1, 1, &options, &request, &error),
              PACE_E_INVALID);
    EXPECT_NE(std::string(error.message).find("keep_local"), std::string::npos) << error.message;
}

TEST_F(Gpu, ADaemonWithoutGpusSaysSoAndServesTheHost) {
    Cluster cluster({.nodes = 1, .daemon_flags = {"--gpu", "off"}});
    GpuWorker worker({.endpoint = cluster.endpoint(0)});
    EXPECT_EQ(worker.add_buffer(PACE_F32, 10), nullptr);
    EXPECT_EQ(worker.error().status, PACE_E_NOT_FOUND);
    EXPECT_NE(std::string(worker.error().message).find("the setting `gpu` is off"),
              std::string::npos)
        << worker.error().message;
    ASSERT_NE(worker.add_buffer(PACE_F32, 10, 0), nullptr) << worker.error().message;
    pace_request request{};
    ASSERT_EQ(worker.reduce(request), PACE_OK);
    EXPECT_EQ(worker.wait(request), PACE_OK);
}

TEST_F(Gpu, ADaemonInTheTrainersProcessHasNone) {
    setenv("PACE_LIBPACED", LIBPACED, 1);
    GpuWorker worker({.endpoint = "embedded:"});
    EXPECT_EQ(worker.add_buffer(PACE_F32, 10), nullptr);
    EXPECT_EQ(worker.error().status, PACE_E_INVALID);
    EXPECT_NE(std::string(worker.error().message).find("start paced"), std::string::npos)
        << worker.error().message;
    ASSERT_NE(worker.add_buffer(PACE_F32, 10, 0), nullptr) << worker.error().message;
    pace_request request{};
    ASSERT_EQ(worker.reduce(request), PACE_OK);
    EXPECT_EQ(worker.wait(request), PACE_OK);
}

TEST_F(Gpu, TwoDaemonsOnOneGpuNoticeEachOther) {
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 1}, 10);
    const std::string second = cluster.pacectl(1, {"daemon", "--json"});
    EXPECT_NE(second.find("serves GPU-"), std::string::npos) << second;
}

}  // namespace
}  // namespace pace::cluster
