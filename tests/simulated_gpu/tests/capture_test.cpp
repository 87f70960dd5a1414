#include <thread>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

int capture_of(CUstream stream) {
    int status = -1;
    EXPECT_EQ(driver().stream_is_capturing(stream, &status), kSuccess);
    return status;
}

CUresult end_of_capture(CUstream stream) {
    CUgraph graph = nullptr;
    return driver().stream_end_capture(stream, &graph);
}

TEST(Capture, RunsNothingAndRecordsNoEvent) {
    apart({}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        const CUevent event = Gpu::event();
        const CUdeviceptr memory = Gpu::memory(8);
        EXPECT_EQ(driver().set_bytes(memory, 1, 8, stream), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(capture_of(stream), kCaptureNone);
        EXPECT_EQ(driver().stream_begin_capture(stream, kCaptureGlobal), kSuccess);
        EXPECT_NE(capture_of(stream), kCaptureNone);
        EXPECT_EQ(driver().set_bytes(memory, 2, 8, stream), kSuccess);
        EXPECT_EQ(driver().event_record(event, stream), kSuccess);
        EXPECT_EQ(end_of_capture(stream), kSuccess);
        EXPECT_EQ(capture_of(stream), kCaptureNone);
        // An event that nobody has recorded is complete: whoever waited for it has waited for
        // nothing.
        EXPECT_EQ(driver().event_query(event), kSuccess);
        unsigned char value = 0;
        EXPECT_EQ(driver().copy_to_host(&value, memory, 1, stream), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(value, 1);
    });
}

TEST(Capture, IsBrokenByAQueryOfAnyThread) {
    apart({}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        const CUevent event = Gpu::event();
        EXPECT_EQ(driver().stream_begin_capture(stream, kCaptureGlobal), kSuccess);
        std::thread([event] {
            EXPECT_EQ(driver().event_query(event), kCaptureUnsupported);
        }).join();
        EXPECT_EQ(end_of_capture(stream), kCaptureInvalidated);
    });
}

TEST(Capture, SurvivesAQueryWithinAContextScope) {
    apart({}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        const CUevent event = Gpu::event();
        EXPECT_EQ(driver().stream_begin_capture(stream, kCaptureGlobal), kSuccess);
        const auto query = [&gpu, event] {
            const ContextScope scope(driver(), gpu.context());
            EXPECT_EQ(driver().event_query(event), kSuccess);
        };
        query();
        std::thread(query).join();
        EXPECT_EQ(end_of_capture(stream), kSuccess);
        // The scope has given the thread its mode back.
        EXPECT_EQ(driver().stream_begin_capture(stream, kCaptureGlobal), kSuccess);
        EXPECT_EQ(driver().event_query(event), kCaptureUnsupported);
        EXPECT_EQ(end_of_capture(stream), kCaptureInvalidated);
    });
}

TEST(Capture, KeepsTheNullStreamOut) {
    apart({}, [] {
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        EXPECT_EQ(driver().stream_begin_capture(nullptr, kCaptureGlobal), kCaptureUnsupported);
        EXPECT_EQ(driver().stream_begin_capture(stream, kCaptureGlobal), kSuccess);
        int status = -1;
        EXPECT_EQ(driver().stream_is_capturing(nullptr, &status), kCaptureImplicit);
        EXPECT_EQ(end_of_capture(stream), kSuccess);
        EXPECT_EQ(capture_of(nullptr), kCaptureNone);
    });
}

}  // namespace
}  // namespace pace::simulated_gpu
