// Gpu tests: a trainer's own CUDA context fails for good. Each in a process of its own, since the
// driver is opened once in a process.
#include "libclient/memory/gpu.h"

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"

namespace pace::client {
namespace {

// The function, named with the number of a call, is the one with which the context fails.
void expect_that_the_process_must_end(const char* function, bool on_stream) {
    simulated_gpu::apart({{"PACE_SIMULATED_GPU_STICKY", function}}, [&] {
        const auto gpu = Gpu::open(0);
        ASSERT_TRUE(gpu) << gpu.error().message;
        const auto events = (*gpu)->make_events(2);
        ASSERT_TRUE(events) << events.error().message;
        (*gpu)->set_order(*events);
        base::cuda::CUstream stream = nullptr;
        base::cuda::CUcontext context = nullptr;
        const base::cuda::CudaDriver& driver = **base::cuda::CudaDriver::get();
        (void)driver.primary_context_retain(&context, 0);
        (void)driver.context_push(context);
        if (on_stream) (void)driver.stream_create(&stream, base::cuda::kStreamNonBlocking);
        const auto recorded = (*gpu)->record(0, 1, stream);
        ASSERT_FALSE(recorded) << function;
        EXPECT_EQ(recorded.error().kind, base::ErrorKind::closed) << function;
        EXPECT_NE(recorded.error().message.find("end the process"), std::string::npos)
            << recorded.error().message;
    });
}

TEST(Gpu, SaysThatTheTrainersProcessMustEndIfItsContextHasFailed) {
    for (const char* const function : {"cuEventRecord:1", "cuStreamIsCapturing:1"})
        expect_that_the_process_must_end(function, false);
    expect_that_the_process_must_end("cuStreamGetCtx:1", true);
}

}  // namespace
}  // namespace pace::client
