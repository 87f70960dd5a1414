#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

TEST(Context, IsNeededByWhatActsInOne) {
    apart({}, [] {
        CUdevice device = 0;
        CUevent event = nullptr;
        CUstream stream = nullptr;
        CUcontext context = nullptr;
        CUdeviceptr address = 0;
        size_t bytes = 0;
        EXPECT_EQ(driver().context_get_device(&device), 201);
        EXPECT_EQ(driver().context_pop(&context), 201);
        EXPECT_EQ(driver().stream_create(&stream, 0), 201);
        EXPECT_EQ(driver().stream_get_context(nullptr, &context), 201);
        EXPECT_EQ(driver().stream_synchronize(nullptr), 201);
        EXPECT_EQ(driver().event_create(&event, 0), 201);
        EXPECT_EQ(driver().mem_alloc(&address, 1), 201);
        EXPECT_EQ(driver().mem_get_info(&bytes, &bytes), 201);
        EXPECT_EQ(driver().mem_host_register(&bytes, sizeof(bytes), 0), 201);
        EXPECT_EQ(driver().copy_to_host(&bytes, address, 1, nullptr), 201);
        // Devices and reserved addresses belong to the process, so these calls need no context.
        EXPECT_EQ(driver().device_get(&device, 0), kSuccess);
        EXPECT_EQ(driver().mem_reserve(&address, size_t{2} << 20U, 0, 0, 0), kSuccess);
    });
}

TEST(Context, IsCurrentInTheThreadThatHasPushedIt) {
    apart({{"PACE_SIMULATED_GPUS", "2"}}, [] {
        const Gpu outer(0);
        CUdevice device = -1;
        {
            const Gpu inner(1);
            EXPECT_EQ(driver().context_get_device(&device), kSuccess);
            EXPECT_EQ(device, 1);
            CUcontext context = nullptr;
            EXPECT_EQ(driver().stream_get_context(nullptr, &context), kSuccess);
            EXPECT_EQ(context, inner.context());
        }
        EXPECT_EQ(driver().context_get_device(&device), kSuccess);
        EXPECT_EQ(device, 0);
        std::thread([] {
            CUdevice none = -1;
            EXPECT_EQ(driver().context_get_device(&none), 201);
        }).join();
        const CUstream stream = Gpu::stream();
        CUcontext context = nullptr;
        EXPECT_EQ(driver().stream_get_context(stream, &context), kSuccess);
        EXPECT_EQ(context, outer.context());
    });
}

TEST(Context, GoesWithItsLastUser) {
    apart({}, [] {
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        EXPECT_EQ(driver().primary_context_release(0), 201);
        EXPECT_EQ(driver().primary_context_retain(&first, 0), kSuccess);
        EXPECT_EQ(driver().primary_context_retain(&second, 0), kSuccess);
        EXPECT_EQ(first, second);
        EXPECT_EQ(driver().context_push(first), kSuccess);
        const CUstream stream = Gpu::stream();
        const CUevent event = Gpu::event();
        const CUdeviceptr address = Gpu::memory(4096);
        EXPECT_EQ(driver().primary_context_release(0), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(driver().primary_context_release(0), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), 709);
        EXPECT_EQ(driver().context_push(first), 201);
        EXPECT_EQ(driver().primary_context_retain(&first, 0), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), 400);
        EXPECT_EQ(driver().event_query(event), 400);
        EXPECT_EQ(driver().mem_free(address), 1);
        EXPECT_EQ(driver().primary_context_release(0), kSuccess);
    });
}

TEST(Context, HandlesThatMeanNothingAreRefused) {
    apart({}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        const CUevent event = Gpu::event();
        const auto stream_as_event = reinterpret_cast<CUevent>(stream);
        const auto event_as_stream = reinterpret_cast<CUstream>(event);
        EXPECT_EQ(driver().event_record(stream_as_event, stream), 400);
        EXPECT_EQ(driver().event_record(event, event_as_stream), 400);
        EXPECT_EQ(driver().stream_wait_event(stream, nullptr, 0), 400);
        EXPECT_EQ(driver().event_query(nullptr), 400);
        EXPECT_EQ(driver().stream_destroy(nullptr), 400);
        EXPECT_EQ(driver().stream_destroy(stream), kSuccess);
        EXPECT_EQ(driver().stream_destroy(stream), 400);
        EXPECT_EQ(driver().event_destroy(event), kSuccess);
        EXPECT_EQ(driver().event_destroy(event), 400);
        EXPECT_EQ(driver().context_push(reinterpret_cast<CUcontext>(stream)), 201);
        EXPECT_EQ(driver().mem_release(4711), 1);
        EXPECT_EQ(driver().mem_unmap(4096, 4096), 1);
        EXPECT_EQ(driver().mem_free(4096), 1);
    });
}

TEST(Context, IsNotInherited) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        gate.hold(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            CUdevice device = 0;
            const bool refused = driver().context_get_device(&device) == 3 && driver().init(0) == 3;
            _exit(refused ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
    });
}

}  // namespace
}  // namespace pace::simulated_gpu
