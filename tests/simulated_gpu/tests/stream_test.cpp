#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

TEST(Stream, DoesItsWorkInOrder) {
    apart({}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        constexpr size_t kCount = 1000;
        struct Entry {
            std::vector<size_t>* order;
            size_t number;
        };
        std::vector<size_t> order;
        std::vector<Entry> entries;
        for (size_t i = 0; i < kCount; ++i) entries.push_back({&order, i});
        const auto append = [](void* data) {
            const auto* entry = static_cast<Entry*>(data);
            entry->order->push_back(entry->number);
        };
        for (Entry& entry : entries)
            EXPECT_EQ(driver().launch_host_function(stream, append, &entry), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        ASSERT_EQ(order.size(), kCount);
        for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(order[i], i);
        EXPECT_EQ(driver().stream_destroy(stream), kSuccess);
    });
}

TEST(Stream, GoesOnWhileItsCallerDoes) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream stream = Gpu::stream();
        const CUdeviceptr memory = Gpu::memory(8);
        uint64_t there = 1;
        uint64_t back = 0;
        EXPECT_EQ(driver().mem_host_register(&back, sizeof(back), kRegisterPortable), kSuccess);
        gate.hold(stream);
        EXPECT_EQ(driver().copy_to_device(memory, &there, sizeof(there), stream), kSuccess);
        EXPECT_EQ(driver().copy_to_host(&back, memory, sizeof(back), stream), kSuccess);
        EXPECT_EQ(back, 0U);
        // This write is too early, because the copy has not read the value.
        there = 2;
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(back, 2U);
    });
}

TEST(Stream, HoldsItsCallerUntilItHasCopiedToMemoryThatIsNotRegistered) {
    apart({{"PACE_SIMULATED_GPU_DELAY_US", "20000"}}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        const CUdeviceptr memory = Gpu::memory(8);
        uint64_t there = 7;
        uint64_t back = 0;
        EXPECT_EQ(driver().copy_to_device(memory, &there, sizeof(there), stream), kSuccess);
        EXPECT_EQ(driver().copy_to_host(&back, memory, sizeof(back), stream), kSuccess);
        EXPECT_EQ(back, 7U);
    });
}

TEST(Stream, WaitsForThoseWithWhichItSharesAQueue) {
    apart({{"PACE_SIMULATED_GPU_CONNECTIONS", "2"}}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream held = Gpu::stream();
        const CUstream other = Gpu::stream();
        const CUstream shares = Gpu::stream();
        const CUevent event = Gpu::event();
        gate.hold(held);
        EXPECT_EQ(driver().event_record(event, shares), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(other), kSuccess);
        EXPECT_EQ(driver().event_query(event), kNotReady);
        gate.open();
        EXPECT_EQ(driver().event_synchronize(event), kSuccess);
    });
}

TEST(Stream, DoesNotWaitForAnother) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream held = Gpu::stream();
        const CUstream free = Gpu::stream();
        gate.hold(held);
        Gate passed;
        passed.open();
        passed.hold(free);
        passed.hold(nullptr);
        EXPECT_EQ(driver().stream_synchronize(free), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(held), kSuccess);
    });
}

TEST(Stream, CopiesAndFillsDeviceMemory) {
    apart({}, [] {
        const Gpu gpu;
        const CUdeviceptr a = Gpu::memory(4);
        const CUdeviceptr b = Gpu::memory(4);
        unsigned char bytes[4] = {1, 2, 3, 4};
        EXPECT_EQ(driver().copy_to_device(a, bytes, 4, nullptr), kSuccess);
        EXPECT_EQ(driver().set_bytes(a + 1, 9, 2, nullptr), kSuccess);
        EXPECT_EQ(driver().copy_on_device(b, a, 4, nullptr), kSuccess);
        EXPECT_EQ(driver().copy_on_device(b, 0, 0, nullptr), kSuccess);
        unsigned char back[4] = {};
        EXPECT_EQ(driver().copy_to_host(back, b, 4, nullptr), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        const unsigned char expected[4] = {1, 9, 9, 4};
        EXPECT_EQ(std::memcmp(back, expected, 4), 0);
        EXPECT_EQ(driver().copy_to_host(back, 0, 4, nullptr), 1);
    });
}

TEST(Stream, FinishesInTheBackgroundWhenItIsDestroyed) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        Gate finished;
        const CUstream stream = Gpu::stream();
        gate.hold(stream);
        const auto open_it = [](void* data) { static_cast<Gate*>(data)->open(); };
        EXPECT_EQ(driver().launch_host_function(stream, open_it, &finished), kSuccess);
        EXPECT_EQ(driver().stream_destroy(stream), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), 400);
        gate.open();
        finished.pass();
    });
}

TEST(Stream, OfAContextThatIsReleasedDropsWhatHasNotBegun) {
    apart({{"PACE_SIMULATED_GPUS", "2"}}, [] {
        const Gpu held(0);
        Gate gate;
        const CUevent event = Gpu::event();
        gate.hold(nullptr);
        EXPECT_EQ(driver().event_record(event, nullptr), kSuccess);
        std::atomic<bool> done{false};
        {
            const Gpu released(1);
            for (const bool destroyed : {false, true}) {
                const CUstream stream = Gpu::stream();
                EXPECT_EQ(driver().stream_wait_event(stream, event, 0), kSuccess);
                const auto set = [](void* data) { *static_cast<std::atomic<bool>*>(data) = true; };
                EXPECT_EQ(driver().launch_host_function(stream, set, &done), kSuccess);
                if (!destroyed) continue;
                EXPECT_EQ(driver().stream_destroy(stream), kSuccess);
            }
        }
        EXPECT_EQ(driver().event_query(event), kNotReady);
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_FALSE(done);
    });
}

TEST(Stream, MayNotCallTheDriverInAHostFunction) {
    apart({}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        CUresult result = kSuccess;
        const auto call = [](void* data) {
            *static_cast<CUresult*>(data) = driver().stream_synchronize(nullptr);
        };
        EXPECT_EQ(driver().launch_host_function(stream, call, &result), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(result, 800);
    });
}

TEST(Stream, CanBeMadeSlow) {
    apart({{"PACE_SIMULATED_GPU_DELAY_US", "3000"}}, [] {
        const Gpu gpu;
        const auto begun = std::chrono::steady_clock::now();
        const CUdeviceptr memory = Gpu::memory(4);
        for (int i = 0; i < 5; ++i) EXPECT_EQ(driver().set_bytes(memory, 1, 4, nullptr), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(15));
    });
}

TEST(Stream, ThatWillNeverFinishDoesNotKeepItsProcess) {
    apart({}, [] {
        Apart waiting({}, [](Line& line) {
            CUcontext context = nullptr;  // never released
            EXPECT_EQ(driver().primary_context_retain(&context, 0), kSuccess);
            EXPECT_EQ(driver().context_push(context), kSuccess);
            const auto event = line.receive<CUipcEventHandle>();
            const CUstream stream = Gpu::stream();
            CUevent their = nullptr;
            EXPECT_EQ(driver().ipc_open_event_handle(&their, event), kSuccess);
            EXPECT_EQ(driver().stream_wait_event(stream, their, 0), kSuccess);
            const auto free_it = [](void* data) { delete static_cast<int*>(data); };
            EXPECT_EQ(driver().launch_host_function(stream, free_it, new int), kSuccess);
        });
        const Gpu gpu;
        Gate gate;
        const CUevent event = Gpu::event(kEventDisableTiming | kEventInterprocess);
        CUipcEventHandle handle{};
        gate.hold(nullptr);
        EXPECT_EQ(driver().event_record(event, nullptr), kSuccess);
        EXPECT_EQ(driver().ipc_get_event_handle(&handle, event), kSuccess);
        waiting.line().send(handle);
        EXPECT_EQ(waiting.end(), 0);
        EXPECT_EQ(driver().event_query(event), kNotReady);
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
    });
}

}  // namespace
}  // namespace pace::simulated_gpu
