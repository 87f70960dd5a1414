// Tests of the simulated NCCL by itself. The tests of GpuCommunicator use all of it.
#include "daemon/device/nccl/nccl_library.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/simulated_gpu.h"
#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

using namespace device;  // for NCCL's own names

const NcclLibrary& nccl() {
    use_simulated_nccl();
    const auto& loaded = NcclLibrary::get();
    if (!loaded) ADD_FAILURE() << loaded.error().message;
    return **loaded;
}

ncclUniqueId unique_id() {
    ncclUniqueId id{};
    EXPECT_EQ(nccl().get_unique_id(&id), ncclSuccess);
    return id;
}

// NCCL reports a settled state only to a caller that asks.
ncclResult_t settled(ncclComm_t communicator) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
        EXPECT_EQ(nccl().comm_get_async_error(communicator, &state), ncclSuccess);
        std::this_thread::yield();
    }
    return state;
}

// Two ranks of this process that have met. Each has a stream and memory of its GPU.
struct Pair {
    Pair() {
        const ncclUniqueId id = unique_id();
        for (int rank = 0; rank < 2; ++rank) {
            gpus.push_back(std::make_unique<Gpu>(rank));
            streams.push_back(Gpu::stream());
            memories.push_back(reinterpret_cast<float*>(Gpu::memory(sizeof(float) * 4)));
            ncclConfig_t config;
            EXPECT_EQ(nccl().comm_init_rank_config(&ranks[rank], 2, id, rank, &config),
                      ncclInProgress);
        }
        for (ncclComm_t rank : ranks) EXPECT_EQ(settled(rank), ncclSuccess);
    }
    ~Pair() {
        // Each Gpu takes its own context from the thread's stack.
        while (!gpus.empty()) gpus.pop_back();
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    ncclResult_t sum(size_t rank, size_t count) {
        return nccl().all_reduce(memories[rank], memories[rank], count, ncclFloat32, ncclSum,
                                 ranks[rank], streams[rank]);
    }

    std::vector<std::unique_ptr<Gpu>> gpus;
    std::vector<CUstream> streams;
    std::vector<float*> memories;  // device memory is host memory here
    std::array<ncclComm_t, 2> ranks{};
};

void with_two_gpus(Environment environment, const std::function<void()>& test) {
    environment.emplace_back("PACE_SIMULATED_GPUS", "2");
    apart(environment, test);
}

TEST(Nccl, SumsInTheTurnOfTheStreams) {
    with_two_gpus({}, [] {
        Pair pair;
        Gate gate;
        gate.hold(pair.streams[0]);
        for (size_t rank = 0; rank < 2; ++rank) {
            pair.memories[rank][0] = 1;
            EXPECT_EQ(pair.sum(rank, 1), ncclInProgress);
        }
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(settled(rank), ncclSuccess);
        EXPECT_EQ(pair.memories[0][0], 1);
        pair.memories[0][0] = 10;
        gate.open();
        for (size_t rank = 0; rank < 2; ++rank) {
            EXPECT_EQ(driver().stream_synchronize(pair.streams[rank]), kSuccess);
            EXPECT_EQ(pair.memories[rank][0], 11);
        }
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(nccl().comm_finalize(rank), ncclInProgress);
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(settled(rank), ncclSuccess);
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(nccl().comm_destroy(rank), ncclSuccess);
        EXPECT_EQ(nccl().comm_destroy(pair.ranks[0]), ncclInvalidArgument);
    });
}

TEST(Nccl, CountsThatDifferAreAnErrorAndTheKernelsWaitUntilTheyAreAborted) {
    with_two_gpus({}, [] {
        Pair pair;
        const CUevent ended = Gpu::event();
        for (size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(pair.sum(rank, 3 + rank), ncclInProgress);
        for (ncclComm_t rank : pair.ranks)
            // The sums are on the streams. The ranks may know already that the counts differ.
            (void)settled(rank);
        EXPECT_EQ(driver().event_record(ended, pair.streams[1]), kSuccess);
        ncclResult_t state = ncclSuccess;
        while (state == ncclSuccess) {
            EXPECT_EQ(nccl().comm_get_async_error(pair.ranks[1], &state), ncclSuccess);
            std::this_thread::yield();
        }
        EXPECT_EQ(state, ncclInvalidUsage);
        EXPECT_STREQ(nccl().get_last_error(nullptr),
                     "rank 0 has 12 bytes of type 7 where rank 1 has 16 of type 7");
        EXPECT_EQ(pair.sum(1, 1), ncclInvalidUsage);
        EXPECT_EQ(driver().event_query(ended), kNotReady);
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(nccl().comm_abort(rank), ncclSuccess);
        for (CUstream stream : pair.streams)
            EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
    });
}

TEST(Nccl, AnErrorInAGroupIsTheGroups) {
    with_two_gpus({{"PACE_SIMULATED_NCCL_FAIL", "ncclAllReduce:2"}}, [] {
        Pair pair;
        EXPECT_EQ(nccl().group_end(), ncclInvalidUsage);
        EXPECT_EQ(nccl().group_start(), ncclSuccess);
        EXPECT_EQ(pair.sum(0, 1), ncclSuccess);
        EXPECT_EQ(pair.sum(1, 1), ncclSystemError);
        EXPECT_EQ(nccl().group_end(), ncclSystemError);
        EXPECT_EQ(driver().stream_synchronize(pair.streams[0]), kSuccess);
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(nccl().comm_abort(rank), ncclSuccess);
    });
}

TEST(Nccl, RefusesWhatItDoesNotSimulate) {
    with_two_gpus({}, [] {
        Pair pair;
        ncclComm_t communicator = nullptr;
        ncclConfig_t config;
        config.blocking = 1;
        EXPECT_EQ(nccl().comm_init_rank_config(&communicator, 2, unique_id(), 0, &config),
                  ncclInvalidArgument);
        // The stream belongs to another device.
        EXPECT_EQ(nccl().all_reduce(pair.memories[0], pair.memories[0], 1, ncclFloat32, ncclSum,
                                    pair.ranks[0], pair.streams[1]),
                  ncclInProgress);
        EXPECT_EQ(pair.sum(1, 1), ncclInProgress);
        EXPECT_EQ(settled(pair.ranks[0]), ncclUnhandledCudaError);
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(nccl().comm_abort(rank), ncclSuccess);
    });
}

TEST(Nccl, CanBeMadeSlow) {
    with_two_gpus({{"PACE_SIMULATED_NCCL_DELAY_US", "5000"}}, [] {
        Pair pair;
        const auto begun = std::chrono::steady_clock::now();
        for (size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(pair.sum(rank, 1), ncclInProgress);
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(settled(rank), ncclSuccess);
        EXPECT_EQ(driver().stream_synchronize(pair.streams[0]), kSuccess);
        EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(5));
        for (ncclComm_t rank : pair.ranks) EXPECT_EQ(nccl().comm_abort(rank), ncclSuccess);
    });
}

TEST(Nccl, SlipsInItsSettingsAreFailures) {
    for (const char* const wrong : {"ncclNoSuchFunction:1", "ncclAllReduce", "ncclAllReduce:0"}) {
        apart({{"PACE_SIMULATED_NCCL_FAIL", wrong}}, [&] {
            use_simulated_nccl();
            EXPECT_FALSE(NcclLibrary::get()) << wrong;
        });
    }
}

// Returns the output of a child that was started with this entry in its environment.
std::string probe(const std::string& entry) {
    FILE* const child = popen((entry + " " PACE_NCCL_PROBE).c_str(), "r");
    if (child == nullptr) return "no child";
    std::array<char, 512> line{};
    const bool read = std::fgets(line.data(), line.size(), child) != nullptr;
    EXPECT_EQ(pclose(child), 0);
    return read ? line.data() : "";
}

TEST(Nccl, ChildrenHaveItOrNot) {
    EXPECT_EQ(probe(environment_entry(Nccl::present)), "2.21.5\n");
    EXPECT_EQ(probe("PACE_SIMULATED_NCCL_VERSION=23203 " + environment_entry(Nccl::present)),
              "2.32.3\n");
    const std::string absence = probe(environment_entry());
    EXPECT_EQ(absence.find("no NCCL can be loaded: "), 0U) << absence;
    EXPECT_NE(absence.find("libnccl.so.2"), std::string::npos) << absence;
}

}  // namespace
}  // namespace pace::simulated_gpu
