// GpuWords tests: when a stream may wait, what a dying daemon leaves, and how long words are kept.
// Each in a process of its own, since the driver is opened once in a process.
#include "libclient/memory/gpu_words.h"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::client {
namespace {

using base::UniqueFd;
using base::cuda::CUstream;
using base::cuda::kNotReady;
using base::cuda::kSuccess;
using simulated_gpu::driver;

constexpr uint32_t kSlots = 4;

// The words of a trainer, as the daemon sees them, too.
struct Words {
    std::shared_ptr<GpuWords> ours;
    std::optional<base::cuda::StreamWords> theirs;
    UniqueFd daemon;  // its end of the connection
    UniqueFd trainer;

    Words() {
        auto made = GpuWords::create(driver(), 0, kSlots);
        EXPECT_TRUE(made) << made.error().message;
        ours = std::move(*made);
        UniqueFd copy(dup(ours->fd()));
        auto adopted = base::cuda::StreamWords::adopt(driver(), std::move(copy), kSlots);
        EXPECT_TRUE(adopted) << adopted.error().message;
        theirs.emplace(std::move(*adopted));
        std::array<int, 2> ends{-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        daemon.reset(ends[0]);
        trainer.reset(ends[1]);
    }

    // The daemon of the socket pair is this process. So the words do not follow it where a stream
    // is to wait.
    void submit(uint32_t slot, uint64_t request, CUstream stream) const {
        EXPECT_EQ(ours->record(slot, request, stream), kSuccess);
        ours->submitted(slot, request);
    }
};

TEST(GpuWords, AStreamDoesNotWaitBeforeTheRequestBeforeIsTold) {
    simulated_gpu::apart({}, [] {
        const simulated_gpu::Gpu gpu;
        const CUstream stream = simulated_gpu::Gpu::stream();
        Words words;
        words.submit(1, 17, stream);
        words.submit(1, 33, stream);
        EXPECT_EQ(words.ours->await_on(1, 33, stream), kNotReady);
        EXPECT_EQ(words.ours->has_come(1, 17), kNotReady);
        words.theirs->at(1).ended = 17;
        EXPECT_EQ(words.ours->has_come(1, 17), kSuccess);
        EXPECT_EQ(words.ours->await_on(1, 33, stream), kSuccess);
        EXPECT_EQ(words.ours->has_come(1, 33), kNotReady);
        words.theirs->at(1).ended = 33;
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(words.theirs->at(1).ready, 33U);
    });
}

TEST(GpuWords, ReleasedStreamsGoOnAndNoResultHasCome) {
    simulated_gpu::apart({}, [] {
        const simulated_gpu::Gpu gpu;
        const CUstream stream = simulated_gpu::Gpu::stream();
        const Words words;
        words.submit(2, 18, stream);
        EXPECT_EQ(words.ours->await_on(2, 18, stream), kSuccess);
        words.ours->release();
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(words.ours->has_come(2, 18), kNotReady);
        words.submit(2, 34, stream);
        EXPECT_EQ(words.ours->await_on(2, 34, stream), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess) << "nobody is left to tell";
    });
}

TEST(GpuWords, TheDaemonsDeathReleasesThem) {
    simulated_gpu::apart({}, [] {
        const simulated_gpu::Gpu gpu;
        const CUstream stream = simulated_gpu::Gpu::stream();
        Words words;
        words.submit(0, 16, stream);
        EXPECT_EQ(words.ours->await_on(0, 16, stream), kSuccess);
        ASSERT_TRUE(words.ours->follow(words.trainer.get()));
        words.daemon.reset();
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
    });
}

// A daemon in this process shares queues of the GPU with the trainer's streams.
TEST(GpuWords, NoStreamWaitsForADaemonInThisProcess) {
    simulated_gpu::apart({}, [] {
        const simulated_gpu::Gpu gpu;
        const CUstream stream = simulated_gpu::Gpu::stream();
        Words words;
        EXPECT_TRUE(words.ours->holds_streams());
        ASSERT_TRUE(words.ours->follow(words.trainer.get()));
        EXPECT_FALSE(words.ours->holds_streams());
        words.submit(0, 16, stream);
        EXPECT_EQ(words.ours->await_on(0, 16, stream), kNotReady);
        words.theirs->at(0).ended = 16;
        EXPECT_EQ(words.ours->await_on(0, 16, stream), kSuccess);
    });
}

// The simulated driver fails for good where a stream uses memory that is registered no more.
TEST(GpuWords, StayUntilStreamsHaveUsedThem) {
    simulated_gpu::apart({}, [] {
        const simulated_gpu::Gpu gpu;
        const CUstream stream = simulated_gpu::Gpu::stream();
        simulated_gpu::Gate gate;
        gate.hold(stream);
        {
            const Words words;
            words.submit(0, 16, stream);
            EXPECT_EQ(words.ours->await_on(0, 16, stream), kSuccess);
        }
        EXPECT_TRUE(GpuWords::create(driver(), 0, kSlots)) << "sweeps what is not used any more";
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_TRUE(GpuWords::create(driver(), 0, kSlots));
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
    });
}

TEST(GpuWords, AreRefusedWhereTheDriverHasNone) {
    simulated_gpu::apart({{"PACE_SIMULATED_GPU_NO_WORDS", "1"}}, [] {
        const simulated_gpu::Gpu gpu;
        const auto words = GpuWords::create(driver(), 0, kSlots);
        ASSERT_FALSE(words);
        EXPECT_EQ(words.error().kind, base::ErrorKind::unavailable);
    });
    simulated_gpu::apart({{"PACE_SIMULATED_GPU_FAIL", "cuStreamWriteValue64_v2:1"}}, [] {
        const simulated_gpu::Gpu gpu;
        EXPECT_FALSE(GpuWords::create(driver(), 0, kSlots));
    });
}

}  // namespace
}  // namespace pace::client
