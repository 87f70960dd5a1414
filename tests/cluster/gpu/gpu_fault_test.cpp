// GPU fault tests: buffers on GPUs when a process dies, is late, or makes a wrong call, or a call
// is canceled.
#include <poll.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capi/testing/calls.h"
#include "tests/cluster/harness/loop_fixture.h"
#include "tests/cluster/trainers/gpu_fixture.h"

namespace pace::cluster {
namespace {

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

#ifdef PACE_SIMULATED_GPU_FOLDER
// Every call of a driver that may take long takes 300 ms in the daemon.
void expect_that_a_slow_driver_stops_no_loop() {
    std::string slow;
    for (const char* const call :
         {"cuDevicePrimaryCtxRetain", "cuMemCreate", "cuMemExportToShareableHandle",
          "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess", "cuMemRelease", "cuMemUnmap",
          "cuMemAddressFree", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostRegister_v2",
          "cuMemHostUnregister", "cuStreamSynchronize", "cuMemGetInfo_v2", "cuDeviceCanAccessPeer"})
        slow += (slow.empty() ? "" : ",") + std::string(call) + ":300000";
    // For each slot of a session.
    for (const char* const call : {"cuIpcOpenEventHandle", "cuIpcGetEventHandle"})
        slow += "," + std::string(call) + ":3000";
    setenv("PACE_SIMULATED_GPU_SLOW", slow.c_str(), 1);
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    unsetenv("PACE_SIMULATED_GPU_SLOW");
    const auto free_bytes = [&] {
        return number_in(cluster.pacectl(0, {"daemon", "--json"}), "free_bytes");
    };
    const int64_t free = free_bytes();
    constexpr size_t kFloats = size_t{2} << 20U;  // large enough for pieces
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 1}, kFloats);
    std::vector<pace_request> requests(2);
    for (int round = 1; round <= 2; ++round) {
        for (size_t i = 0; i < 2; ++i) {
            workers[i]->fill(0, std::vector<float>(kFloats, static_cast<float>(round)));
            ASSERT_EQ(workers[i]->reduce(requests[i]), PACE_OK) << workers[i]->error().message;
        }
        for (size_t i = 0; i < 2; ++i)
            ASSERT_EQ(workers[i]->wait(requests[i]), PACE_OK) << workers[i]->error().message;
        EXPECT_EQ(workers[0]->values(0).back(), static_cast<float>(2 * round));
    }
    workers.clear();
    const Deadline end = soon();
    while (free_bytes() != free && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
    EXPECT_EQ(free_bytes(), free);
    if (!base::kSanitized) expect_calm(cluster, 2);  // a sanitizer takes more time
}

TEST_F(Gpu, ASlowDriverStopsNoLoop) {
    expect_that_a_slow_driver_stops_no_loop();
}

TEST_F(Gpu, ASlowDriverWithoutVirtualMemoryStopsNoLoop) {
    setenv("PACE_SIMULATED_GPU_NO_VMM", "1", 1);
    expect_that_a_slow_driver_stops_no_loop();
    unsetenv("PACE_SIMULATED_GPU_NO_VMM");
}

TEST_F(Gpu, ASlowDriverWithoutWordsStopsNoLoop) {
    setenv("PACE_SIMULATED_GPU_NO_WORDS", "1", 1);
    expect_that_a_slow_driver_stops_no_loop();
    unsetenv("PACE_SIMULATED_GPU_NO_WORDS");
}

// The driver would copy to such memory while the daemon's loop waits.
TEST_F(Gpu, HostMemoryThatCannotBePinnedEndsTheCallThatNeedsIt) {
    setenv("PACE_SIMULATED_GPU_FAIL", "cuMemHostRegister_v2:1", 1);
    Cluster cluster({.nodes = 2, .daemon_flags = flags()});
    unsetenv("PACE_SIMULATED_GPU_FAIL");
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 1}, 64);
    std::vector<pace_request> requests(2);
    for (size_t i = 0; i < 2; ++i) {
        workers[i]->fill(0, ramp(64, 3));
        ASSERT_EQ(workers[i]->reduce(requests[i]), PACE_OK) << workers[i]->error().message;
    }
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(workers[i]->wait(requests[i]), PACE_E_MEMORY);
        EXPECT_NE(std::string(workers[i]->error().message).find("pinned"), std::string::npos)
            << workers[i]->error().message;
        EXPECT_EQ(workers[i]->values(0), ramp(64, 3));
    }
}

// The driver refuses all further calls of the daemon's process.
TEST_F(Gpu, ADaemonWhoseContextHasFailedEndsAndTheNextOneTakesTheMemoryOver) {
    // The first word is written when the streams' order is agreed on, the second with a result.
    setenv("PACE_SIMULATED_GPU_STICKY", "cuStreamWriteValue64_v2:2", 1);
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    unsetenv("PACE_SIMULATED_GPU_STICKY");
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 64);
    pace_request request{};
    for (const pace_status ended : {PACE_E_DAEMON_GONE, PACE_OK, PACE_OK}) {
        workers[0]->fill(0, ramp(64, 3));
        ASSERT_EQ(workers[0]->reduce(request), PACE_OK) << workers[0]->error().message;
        ASSERT_EQ(workers[0]->wait(request), ended)
            << workers[0]->error().message << cluster.logs();
        EXPECT_EQ(workers[0]->values(0), ramp(64, 3));
        if (ended == PACE_OK) continue;
        EXPECT_EQ(cluster.daemon(0).wait(soon()), 1);
        EXPECT_EQ(cluster.said(Cluster::name(0), "CUDA_ERROR_ILLEGAL_ADDRESS"), 1U);
        cluster.start_daemon(0);
    }
}
#endif

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

// One worker's stream is held. The averages of the two other workers go on.
void expect_that_nobody_is_held_by_a_stream(const Cluster& cluster) {
    Gate gate;
    GpuWorkers workers = open_gpu_workers(
        cluster, {.policy = PACE_POLICY_PARTIAL_REDUCE, .group_size = 2}, {0, 0, 0}, 500);
    gate.hold(*workers[2]);
    workers[2]->fill(0, std::vector<float>(500, 4));
    pace_request late{};
    ASSERT_EQ(workers[2]->average(late, 1), PACE_OK);
    std::vector<pace_request> requests(2);
    for (uint64_t iteration = 1; iteration <= 10; ++iteration) {
        for (size_t rank = 0; rank < 2; ++rank) {
            workers[rank]->fill(0, std::vector<float>(500, static_cast<float>(rank)));
            ASSERT_EQ(workers[rank]->average(requests[rank], iteration), PACE_OK);
        }
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers[rank]->wait(requests[rank]), PACE_OK)
                << workers[rank]->error().message;
            EXPECT_EQ(workers[rank]->values(0), std::vector<float>(500, 0.5F));
        }
    }
    EXPECT_EQ(workers[2]->wait(late, 0), PACE_TIMEOUT);
    gate.open();
    workers[0]->fill(0, std::vector<float>(500, 2));
    ASSERT_EQ(workers[0]->average(requests[0], 11), PACE_OK);
    ASSERT_EQ(workers[2]->wait(late), PACE_OK) << workers[2]->error().message << cluster.logs();
    EXPECT_EQ(workers[2]->values(0), std::vector<float>(500, 3));
}

TEST_F(Gpu, AStreamThatDoesNotComeHoldsNobodyElse) {
    const Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    expect_that_nobody_is_held_by_a_stream(cluster);
}

#ifdef PACE_SIMULATED_GPU_FOLDER
// A GPU has fewer queues than a daemon has streams.
TEST_F(Gpu, AStreamThatDoesNotComeHoldsNobodyWhoSharesAQueue) {
    setenv("PACE_SIMULATED_GPU_CONNECTIONS", "1", 1);
    const Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    unsetenv("PACE_SIMULATED_GPU_CONNECTIONS");
    expect_that_nobody_is_held_by_a_stream(cluster);
}
#endif

// Opens the first of two workers of a job. Its contribution is 1 everywhere. The buffer for its
// result has 7 everywhere.
std::unique_ptr<GpuWorker> open_with_result(const Cluster& cluster) {
    GpuWorkers workers = open_gpu_workers(cluster, {.world = 2}, {0}, 500);
    EXPECT_NE(workers[0]->add_buffer(PACE_F32, 500), nullptr);
    workers[0]->fill(0, std::vector<float>(500, 1));
    workers[0]->fill(1, std::vector<float>(500, 7));
    return std::move(workers[0]);
}

// Contributions are copied to the results when the stream has come to the call. They are not copied
// for a call that was canceled before.
TEST_F(Gpu, ACanceledCallLeavesItsResultsAlone) {
    Gate gate;
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const auto opened = open_with_result(cluster);
    GpuWorker& worker = *opened;
    gate.hold(worker);
    pace_request request{};
    ASSERT_EQ(worker.reduce_into(request, 0, 1), PACE_OK) << worker.error().message;
    pace_error error{};
    ASSERT_EQ(pace_request_cancel(worker.session(), request, &error), PACE_OK);
    EXPECT_EQ(worker.wait(request), PACE_CANCELED) << worker.error().message;
    gate.open();
    ASSERT_EQ(worker.reduce_into(request, 0, 1), PACE_OK) << worker.error().message;
    ASSERT_EQ(pace_request_cancel(worker.session(), request, &error), PACE_OK);
    EXPECT_EQ(worker.wait(request), PACE_CANCELED) << worker.error().message;
    // However far the canceled call had come, it writes nothing any more.
    worker.fill(1, std::vector<float>(500, 9));
    EXPECT_EQ(worker.values(1), std::vector<float>(500, 9));
    EXPECT_EQ(pace_buffer_free(worker.session(), worker.buffer(1), &error), PACE_OK)
        << error.message;
    EXPECT_EQ(worker.values(0), std::vector<float>(500, 1));
}

// The buffers hold the contributions or a part of the result.
TEST_F(Gpu, ResultsOfADaemonThatDiedAreTorn) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    const auto opened = open_with_result(cluster);
    GpuWorker& worker = *opened;
    pace_request request{};
    ASSERT_EQ(worker.reduce_into(request, 0, 1), PACE_OK) << worker.error().message;
    const auto deadline = soon();
    while (worker.values(1)[499] != 1 && std::chrono::steady_clock::now() < deadline) {
    }
    ASSERT_EQ(worker.values(1), std::vector<float>(500, 1)) << cluster.logs();
    cluster.daemon(0).signal(SIGKILL);
    EXPECT_EQ(worker.wait(request), PACE_E_DAEMON_GONE);
    EXPECT_EQ(worker.info().contents, PACE_CONTENTS_TORN) << worker.error().message;
    EXPECT_EQ(worker.values(0), std::vector<float>(500, 1));
}

// The daemon's copies may be half done, whatever it has told.
TEST_F(Gpu, AResultOfADaemonThatDiedSinceIsLost) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 64);
    pace_request request{};
    ASSERT_EQ(workers[0]->reduce(request), PACE_OK);
    pollfd ended{workers[0]->worker().ready_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&ended, 1, 30'000), 1);
    cluster.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    cluster.start_daemon(0);
    // This call reconnects, so that the streams' order is with another daemon.
    ASSERT_NE(workers[0]->add_buffer(PACE_F32, 8, pace_device{}), nullptr)
        << workers[0]->error().message;
    EXPECT_EQ(workers[0]->wait(request), PACE_E_DAEMON_GONE);
    EXPECT_EQ(workers[0]->info().contents, PACE_CONTENTS_TORN) << workers[0]->error().message;
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
    EXPECT_EQ(worker.add_buffer(PACE_F32, 10, on_gpu(7)), nullptr);
    EXPECT_EQ(worker.error().status, PACE_E_INVALID);
    EXPECT_NE(std::string(worker.error().message).find("GPU 7"), std::string::npos);
    ASSERT_NE(worker.add_buffer(PACE_F32, 10), nullptr) << worker.error().message;
    // This buffer is on the host, beside the one on the GPU.
    ASSERT_NE(worker.add_buffer(PACE_F32, 10, pace_device{}), nullptr);
    pace_request request{};
    EXPECT_EQ(worker.reduce(request), PACE_E_INVALID);
    EXPECT_NE(std::string(worker.error().message).find("slices[1] is not where slices[0] is"),
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
    EXPECT_EQ(
        pace_average(worker.session(), Slices(&worker.buffer(0), 1), 1, &options, &request, &error),
        PACE_E_INVALID);
    EXPECT_NE(std::string(error.message).find("keep_local"), std::string::npos) << error.message;
    options = PACE_AVERAGE_OPTIONS_INIT;
    options.call.device = on_gpu(5);
    EXPECT_EQ(
        pace_average(worker.session(), Slices(&worker.buffer(0), 1), 1, &options, &request, &error),
        PACE_E_INVALID);
    EXPECT_NE(std::string(error.message).find("GPU 5"), std::string::npos) << error.message;
    options.call.device = on_gpu(0);
    const pace_slice part{worker.buffer(0), 1, 9};
    EXPECT_EQ(pace_average(worker.session(), &part, 1, &options, &request, &error), PACE_E_INVALID);
    EXPECT_NE(std::string(error.message).find("as a whole"), std::string::npos) << error.message;
}

// A capture runs nothing, so the data would not be there. And calls beside it must not break it.
TEST_F(Gpu, ACaptureOfAGraphIsRefusedByNameAndNotBroken) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorker worker({.endpoint = cluster.endpoint(0)});
    ASSERT_NE(worker.add_buffer(PACE_F32, 10), nullptr) << worker.error().message;
    const base::cuda::CudaDriver& driver = TestGpu::driver();
    const base::cuda::CUstream other = worker.gpu().stream();
    const auto begin = [&](base::cuda::CUstream stream) {
        const auto scope = worker.gpu().enter();
        return driver.stream_begin_capture(stream, base::cuda::kCaptureGlobal);
    };
    const auto end = [&](base::cuda::CUstream stream) {
        const auto scope = worker.gpu().enter();
        base::cuda::CUgraph graph = nullptr;
        return driver.stream_end_capture(stream, &graph);
    };
    pace_request request{};
    worker.fill(0, ramp(10, 1));
    ASSERT_EQ(begin(worker.stream()), base::cuda::kSuccess);
    EXPECT_EQ(worker.reduce(request), PACE_E_INVALID);
    EXPECT_NE(std::string(worker.error().message).find("graph is being captured"),
              std::string::npos)
        << worker.error().message;
    EXPECT_EQ(end(worker.stream()), base::cuda::kSuccess);
    // Another stream is captured while this one's call ends.
    ASSERT_EQ(begin(other), base::cuda::kSuccess);
    EXPECT_EQ(worker.reduce(request), PACE_OK) << worker.error().message;
    EXPECT_EQ(worker.wait(request), PACE_OK) << worker.error().message;
    EXPECT_EQ(end(other), base::cuda::kSuccess);
    EXPECT_EQ(worker.values(0), ramp(10, 1));
}

TEST_F(Gpu, ADaemonWithoutGpusSaysSoAndServesTheHost) {
    Cluster cluster({.nodes = 1, .daemon_flags = {"--gpu", "off"}});
    GpuWorker worker({.endpoint = cluster.endpoint(0)});
    EXPECT_EQ(worker.add_buffer(PACE_F32, 10), nullptr);
    EXPECT_EQ(worker.error().status, PACE_E_NOT_FOUND);
    EXPECT_NE(std::string(worker.error().message).find("the setting `gpu` is off"),
              std::string::npos)
        << worker.error().message;
    ASSERT_NE(worker.add_buffer(PACE_F32, 10, pace_device{}), nullptr) << worker.error().message;
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
