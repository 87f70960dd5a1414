// GPU stream tests: how a trainer's streams wait for requests, and that no stream waits for ever.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capi/testing/calls.h"
#include "tests/cluster/trainers/gpu_fixture.h"

namespace pace::cluster {
namespace {

constexpr uint64_t kElements = 1000;

// Makes the worker's stream wait for a request that cannot end yet.
void hold_stream(GpuWorker& worker, pace_request& ret_request) {
    worker.fill(0, std::vector<float>(kElements, 1));
    ASSERT_EQ(worker.reduce(ret_request), PACE_OK) << worker.error().message;
    ASSERT_EQ(worker.wait_on_stream(ret_request, PACE_WAIT_QUEUED), PACE_PENDING)
        << worker.error().message;
    ASSERT_EQ(worker.info().status, PACE_PENDING);
    EXPECT_EQ(worker.wait(ret_request, 0), PACE_TIMEOUT);
}

// The calling thread runs ahead of all streams: it waits for nothing before all is queued.
TEST_F(Gpu, AQueuedWaitOrdersTheStreamAndNotTheThread) {
    constexpr size_t kBuffers = 4;
    constexpr size_t kRounds = 6;
    for (const std::vector<size_t>& nodes :
         {std::vector<size_t>{0, 0}, std::vector<size_t>{0, 1}}) {
        Cluster cluster({.nodes = 2, .daemon_flags = flags()});
        GpuWorkers workers = open_gpu_workers(cluster, {}, nodes, 0);
        for (auto& worker : workers)
            for (size_t i = 0; i < kBuffers; ++i)
                ASSERT_NE(worker->add_buffer(PACE_F32, kElements), nullptr);
        for (size_t round = 0; round < kRounds; ++round) {
            std::deque<PinnedFloats> seen;
            std::vector<pace_request> requests(2 * kBuffers);
            for (size_t rank = 0; rank < 2; ++rank) {
                GpuWorker& worker = *workers[rank];
                for (size_t i = 0; i < kBuffers; ++i) {
                    pace_request& request = requests[rank * kBuffers + i];
                    worker.fill(i, std::vector<float>(
                                       kElements, static_cast<float>(100 * round + 10 * i + rank)));
                    ASSERT_EQ(worker.reduce_one(request, i), PACE_OK) << worker.error().message;
                    const pace_status queued = worker.wait_on_stream(request, PACE_WAIT_QUEUED);
                    ASSERT_TRUE(queued == PACE_PENDING || (rank == 1 && queued == PACE_OK))
                        << worker.error().message;
                    if (queued == PACE_OK) request = {};
                    worker.copy_out(i, seen.emplace_back(worker.gpu(), kElements));
                }
            }
            for (size_t k = 0; k < requests.size(); ++k) {
                GpuWorker& worker = *workers[k / kBuffers];
                if (requests[k].id != 0) {
                    ASSERT_EQ(worker.wait(requests[k]), PACE_OK) << worker.error().message;
                }
                ASSERT_TRUE(worker.stream_comes());
                EXPECT_EQ(
                    seen[k].values(),
                    std::vector<float>(kElements,
                                       static_cast<float>(200 * round + 20 * (k % kBuffers) + 1)));
            }
        }
    }
}

TEST_F(Gpu, AStreamThatWaitsGoesOnWhenTheDaemonDies) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {.world = 2}, {0}, kElements);
    pace_request request{};
    hold_stream(*workers[0], request);
    cluster.daemon(0).signal(SIGKILL);
    // This thread is in no call of Pace meanwhile.
    EXPECT_TRUE(workers[0]->stream_comes());
    EXPECT_EQ(workers[0]->wait(request), PACE_E_DAEMON_GONE) << workers[0]->error().message;
    EXPECT_EQ(workers[0]->values(0), std::vector<float>(kElements, 1));
}

// Such a session's streams are ordered anew with the next daemon, and its words are others.
TEST_F(Gpu, AStreamWaitsForTheNextDaemonToo) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 0}, kElements);
    for (int death = 0; death < 2; ++death) {
        pace_request lost{};
        hold_stream(*workers[0], lost);
        cluster.daemon(0).signal(SIGKILL);
        ASSERT_TRUE(cluster.daemon(0).wait(soon()));
        EXPECT_EQ(workers[0]->wait(lost), PACE_E_DAEMON_GONE) << workers[0]->error().message;
        cluster.start_daemon(0);
        // The second worker gets the first one's model with the first one's next call.
        std::vector<pace_request> models(2);
        for (size_t rank = 0; rank < 2; ++rank) {
            workers[rank]->fill(0, std::vector<float>(kElements, 2));
            ASSERT_EQ(workers[rank]->broadcast(models[rank], 0), PACE_OK)
                << workers[rank]->error().message;
        }
        std::vector<pace_request> sums(2);
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers[rank]->wait(models[rank]), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            ASSERT_EQ(workers[rank]->reduce(sums[rank]), PACE_OK) << workers[rank]->error().message;
            if (workers[rank]->wait_on_stream(sums[rank], PACE_WAIT_QUEUED) == PACE_OK)
                sums[rank] = {};
        }
        for (size_t rank = 0; rank < 2; ++rank) {
            if (sums[rank].id != 0) {
                ASSERT_EQ(workers[rank]->wait(sums[rank]), PACE_OK)
                    << workers[rank]->error().message << cluster.logs();
            }
            EXPECT_TRUE(workers[rank]->stream_comes());
            EXPECT_EQ(workers[rank]->values(0), std::vector<float>(kElements, 4));
        }
    }
}

TEST_F(Gpu, AStreamGoesOnHoweverItsRequestEnds) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    pace_error error{};
    {
        GpuWorkers workers =
            open_gpu_workers(cluster, {.job = "canceled", .world = 2}, {0}, kElements);
        pace_request request{};
        hold_stream(*workers[0], request);
        ASSERT_EQ(pace_request_cancel(workers[0]->session(), request, &error), PACE_OK);
        EXPECT_TRUE(workers[0]->stream_comes());
        EXPECT_EQ(workers[0]->wait(request), PACE_CANCELED);
    }
    {
        GpuWorkers workers =
            open_gpu_workers(cluster, {.job = "mismatch", .world = 2}, {0}, kElements);
        GpuWorker other(
            {.endpoint = cluster.endpoint(0), .job = "mismatch", .rank = 1, .world = 2});
        ASSERT_NE(other.add_buffer(PACE_F32, 2 * kElements), nullptr) << other.error().message;
        pace_request request{};
        pace_request refused{};
        hold_stream(*workers[0], request);
        ASSERT_EQ(other.reduce(refused), PACE_OK);
        EXPECT_EQ(other.wait(refused), PACE_E_MISMATCH) << other.error().message;
        EXPECT_EQ(pace_request_cancel(workers[0]->session(), request, &error), PACE_OK);
        EXPECT_TRUE(workers[0]->stream_comes());
        EXPECT_NE(workers[0]->wait(request), PACE_OK);
    }
    // The session ends, and its stream does not.
    TestGpu gpu;
    const base::cuda::CUstream stream = gpu.stream();
    {
        GpuWorker worker({.endpoint = cluster.endpoint(0), .job = "freed", .world = 2});
        ASSERT_NE(worker.add_buffer(PACE_F32, kElements), nullptr) << worker.error().message;
        pace_request request{};
        ASSERT_EQ(worker.reduce(request), PACE_OK);
        pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
        how.flags = PACE_WAIT_QUEUED;
        how.device = on_gpu(0);
        how.stream = stream;
        ASSERT_EQ(pace_request_wait(worker.session(), request, PACE_FOREVER, &how, nullptr, &error),
                  PACE_PENDING)
            << error.message;
    }
    const auto scope = gpu.enter();
    EXPECT_EQ(TestGpu::driver().stream_synchronize(stream), base::cuda::kSuccess);
}

TEST_F(Gpu, AQueuedWaitIsForOneRequestAndAStream) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {.world = 2}, {0}, kElements);
    GpuWorker& worker = *workers[0];
    pace_request request{};
    ASSERT_EQ(worker.reduce(request), PACE_OK);
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    how.flags = PACE_WAIT_QUEUED;
    pace_request ended{};
    pace_error error{};
    EXPECT_EQ(pace_request_wait(worker.session(), request, 0, &how, nullptr, &error),
              PACE_E_INVALID);
    EXPECT_NE(std::string(error.message).find("name the GPU and the stream"), std::string::npos)
        << error.message;
    how.device = on_gpu(0);
    for (const pace_status refused :
         {pace_request_test(worker.session(), request, &how, nullptr, &error),
          pace_request_wait_any(worker.session(), &request, 1, 0, &how, &ended, nullptr, &error),
          pace_session_next(worker.session(), 0, &how, &ended, nullptr, &error)}) {
        EXPECT_EQ(refused, PACE_E_INVALID);
        EXPECT_NE(std::string(error.message).find("only pace_request_wait"), std::string::npos)
            << error.message;
    }
    how.device = on_gpu(1);
    EXPECT_EQ(pace_request_wait(worker.session(), request, 0, &how, nullptr, &error),
              PACE_E_INVALID);
    EXPECT_NE(std::string(error.message).find("the buffers are on GPU 0"), std::string::npos)
        << error.message;
    EXPECT_EQ(worker.wait(request, 0), PACE_TIMEOUT) << "it is in flight still";
}

// The driver unmaps at once what the trainer's streams still use.
TEST_F(Gpu, ABufferThatIsFreedStaysUntilTheStreamsHaveUsedIt) {
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0}, 0);
    GpuWorker& worker = *workers[0];
    const auto free_bytes = [&] {
        return number_in(cluster.pacectl(0, {"daemon", "--json"}), "free_bytes");
    };
    const int64_t free = free_bytes();
    ASSERT_NE(worker.add_buffer(PACE_F32, kElements), nullptr) << worker.error().message;
    worker.fill(0, ramp(kElements, 5));
    ASSERT_TRUE(worker.stream_comes());
    Gate gate;
    gate.hold(worker);
    PinnedFloats seen(worker.gpu(), kElements);
    worker.copy_out(0, seen);
    std::thread freeing([&] {
        pace_error error{};
        EXPECT_EQ(pace_buffer_free(worker.session(), worker.buffer(0), &error), PACE_OK)
            << error.message;
    });
    const Deadline end = soon();
    while (free_bytes() != free && std::chrono::steady_clock::now() < end) {
    }
    // Other calls of the session go on meanwhile.
    EXPECT_NE(worker.worker().ready_fd(), -1);
    gate.open();
    freeing.join();
    EXPECT_TRUE(worker.stream_comes());
    EXPECT_EQ(seen.values(), ramp(kElements, 5));
}

// A stream of this process would wait in a queue that the daemon's streams use, too.
TEST_F(Gpu, ADaemonInTheTrainersProcessServesItsGpus) {
    setenv("PACE_LIBPACED", LIBPACED, 1);
    GpuWorker worker({.endpoint = "embedded:"});
    ASSERT_NE(worker.add_buffer(PACE_F32, kElements), nullptr) << worker.error().message;
    for (int round = 0; round < 3; ++round) {
        pace_request request{};
        worker.fill(0, ramp(kElements, static_cast<float>(round)));
        ASSERT_EQ(worker.reduce(request), PACE_OK) << worker.error().message;
        ASSERT_EQ(worker.wait_on_stream(request, round == 2 ? PACE_WAIT_QUEUED : 0), PACE_OK)
            << worker.error().message;
        EXPECT_EQ(worker.values(0), ramp(kElements, static_cast<float>(round)));
    }
}

#ifdef PACE_SIMULATED_GPU_FOLDER
void expect_sums(const Cluster& cluster, uint32_t wait_flags) {
    GpuWorkers workers = open_gpu_workers(cluster, {}, {0, 0}, kElements);
    for (int round = 1; round <= 3; ++round) {
        std::vector<pace_request> requests(2);
        for (size_t rank = 0; rank < 2; ++rank) {
            workers[rank]->fill(0, std::vector<float>(kElements, static_cast<float>(round)));
            ASSERT_EQ(workers[rank]->reduce(requests[rank]), PACE_OK)
                << workers[rank]->error().message;
        }
        for (size_t rank = 0; rank < 2; ++rank) {
            ASSERT_EQ(workers[rank]->wait_on_stream(requests[rank], wait_flags), PACE_OK)
                << workers[rank]->error().message << cluster.logs();
            EXPECT_EQ(workers[rank]->values(0),
                      std::vector<float>(kElements, static_cast<float>(2 * round)));
        }
    }
}

// A driver before CUDA 11.7 has no words. A wait that is to be queued waits.
TEST_F(Gpu, WithoutWordsEventsOrderTheStreams) {
    setenv("PACE_SIMULATED_GPU_NO_WORDS", "1", 1);
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    unsetenv("PACE_SIMULATED_GPU_NO_WORDS");
    expect_sums(cluster, PACE_WAIT_QUEUED);
    const std::string found = cluster.pacectl(0, {"doctor"});
    EXPECT_NE(found.find("orders the streams of trainers by events"), std::string::npos) << found;
}

// Containers with a /dev/shm each cannot open each other's events.
TEST_F(Gpu, WordsNeedNoEventsOfOtherProcesses) {
    setenv("PACE_SIMULATED_GPU_FAIL", "cuIpcOpenEventHandle:1,cuIpcGetEventHandle:1", 1);
    Cluster cluster({.nodes = 1, .daemon_flags = flags()});
    expect_sums(cluster, 0);
    setenv("PACE_SIMULATED_GPU_NO_WORDS", "1", 1);
    Cluster neither({.nodes = 1, .daemon_flags = flags()});
    unsetenv("PACE_SIMULATED_GPU_FAIL");
    unsetenv("PACE_SIMULATED_GPU_NO_WORDS");
    GpuWorker worker({.endpoint = neither.endpoint(0)});
    EXPECT_EQ(worker.add_buffer(PACE_F32, kElements), nullptr);
    EXPECT_EQ(worker.error().status, PACE_E_NOT_FOUND);
    EXPECT_NE(std::string(worker.error().message).find("open an event of the trainer's"),
              std::string::npos)
        << worker.error().message;
}

// The driver has words, and refuses them (as it may under MPS).
TEST_F(Gpu, WordsThatFailAreReplacedByEvents) {
    for (const char* const call : {"cuStreamWriteValue64_v2:1", "cuMemHostGetDevicePointer_v2:1"}) {
        setenv("PACE_SIMULATED_GPU_FAIL", call, 1);
        Cluster cluster({.nodes = 1, .daemon_flags = flags()});
        unsetenv("PACE_SIMULATED_GPU_FAIL");
        expect_sums(cluster, 0);
    }
}
#endif

}  // namespace
}  // namespace pace::cluster
