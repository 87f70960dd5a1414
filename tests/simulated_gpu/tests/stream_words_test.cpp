#include <unistd.h>

#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

// A word of this process's memory, and its address on the device.
struct Word {
    alignas(4096) std::atomic<uint64_t> value = 0;
    CUdeviceptr address = 0;

    Word() {
        EXPECT_EQ(driver().mem_host_register(&value, sizeof(value), kRegisterMapped), kSuccess);
        EXPECT_EQ(driver().mem_host_device_pointer(&address, &value, 0), kSuccess);
    }
};

TEST(StreamWords, HoldAStreamUntilTheyAreLargeEnough) {
    apart({}, [] {
        const Gpu gpu;
        Word word;
        const CUstream stream = Gpu::stream();
        const CUevent after = Gpu::event();
        EXPECT_EQ(driver().stream_wait_value(stream, word.address, 7, kWaitValueAtLeast), kSuccess);
        EXPECT_EQ(driver().event_record(after, stream), kSuccess);
        word.value = 6;
        EXPECT_EQ(driver().event_query(after), kNotReady);
        word.value = 8;
        EXPECT_EQ(driver().event_synchronize(after), kSuccess);
    });
}

TEST(StreamWords, AreWrittenInTheOrderOfTheStream) {
    apart({}, [] {
        const Gpu gpu;
        Word word;
        Gate gate;
        const CUstream stream = Gpu::stream();
        gate.hold(stream);
        EXPECT_EQ(driver().stream_write_value(stream, word.address, 5, 0), kSuccess);
        EXPECT_EQ(word.value, 0U);
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(word.value, 5U);
    });
}

TEST(StreamWords, AreWordsOfRegisteredMemoryOnly) {
    apart({}, [] {
        const Gpu gpu;
        Word word;
        Gate gate;
        const CUstream stream = Gpu::stream();
        const auto host = reinterpret_cast<uintptr_t>(&word.value);
        EXPECT_EQ(driver().stream_write_value(stream, host, 5, 0), 1) << "the host's address";
        gate.hold(stream);
        EXPECT_EQ(driver().stream_write_value(stream, word.address, 5, 0), kSuccess);
        EXPECT_EQ(driver().mem_host_unregister(&word.value), kSuccess);
        gate.open();
        (void)driver().stream_synchronize(stream);
        EXPECT_EQ(driver().stream_synchronize(stream), kIllegalAddress);
        _exit(testing::Test::HasFailure() ? 1 : 0);  // no call works any more
    });
}

TEST(StreamWords, MayBeMissing) {
    apart({{"PACE_SIMULATED_GPU_NO_WORDS", "1"}}, [] {
        const Gpu gpu;
        const Word word;
        EXPECT_FALSE(driver().has_stream_words(0));
        EXPECT_EQ(driver().stream_write_value(nullptr, word.address, 5, 0), kNotSupported);
    });
    apart({}, [] { EXPECT_TRUE(driver().has_stream_words(0)); });
}

}  // namespace
}  // namespace pace::simulated_gpu
