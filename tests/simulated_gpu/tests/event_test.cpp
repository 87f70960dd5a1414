#include <csignal>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

constexpr unsigned kShared = kEventDisableTiming | kEventInterprocess;

TEST(Event, IsCompleteWhenItsStreamHasComeSoFar) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream stream = Gpu::stream();
        const CUevent event = Gpu::event();
        EXPECT_EQ(driver().event_query(event), kSuccess) << "never recorded";
        gate.hold(stream);
        EXPECT_EQ(driver().event_record(event, stream), kSuccess);
        EXPECT_EQ(driver().event_query(event), kNotReady);
        gate.open();
        EXPECT_EQ(driver().event_synchronize(event), kSuccess);
        EXPECT_EQ(driver().event_query(event), kSuccess);
        EXPECT_EQ(driver().event_destroy(event), kSuccess);
        EXPECT_EQ(driver().event_query(event), 400);
    });
}

TEST(Event, HoldsTheStreamsThatWaitForIt) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream first = Gpu::stream();
        const CUstream second = Gpu::stream();
        const CUevent reached = Gpu::event();
        const CUevent after = Gpu::event();
        const CUdeviceptr memory = Gpu::memory(1);
        unsigned char seen = 0;
        EXPECT_EQ(driver().mem_host_register(&seen, 1, kRegisterPortable), kSuccess);
        gate.hold(first);
        EXPECT_EQ(driver().set_bytes(memory, 5, 1, first), kSuccess);
        EXPECT_EQ(driver().event_record(reached, first), kSuccess);
        EXPECT_EQ(driver().stream_wait_event(second, reached, 0), kSuccess);
        // A waiting stream keeps what it needs.
        EXPECT_EQ(driver().event_destroy(reached), kSuccess);
        EXPECT_EQ(driver().copy_to_host(&seen, memory, 1, second), kSuccess);
        EXPECT_EQ(driver().event_record(after, second), kSuccess);
        EXPECT_EQ(driver().event_query(after), kNotReady);
        gate.open();
        EXPECT_EQ(driver().event_synchronize(after), kSuccess);
        EXPECT_EQ(seen, 5);
        EXPECT_EQ(driver().stream_synchronize(first), kSuccess);
    });
}

TEST(Event, IsWaitedForAsItWasWhenTheWaitWasQueued) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream held = Gpu::stream();
        const CUstream waiting = Gpu::stream();
        const CUevent event = Gpu::event();
        EXPECT_EQ(driver().stream_wait_event(waiting, event, 0), kSuccess);
        gate.hold(held);
        EXPECT_EQ(driver().event_record(event, held), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(waiting), kSuccess) << "nothing was recorded then";
        EXPECT_EQ(driver().event_query(event), kNotReady);
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(held), kSuccess);
    });
}

TEST(Event, RecordedAgainElsewhereEndsNoEarlierWait) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream held = Gpu::stream();
        const CUstream waiting = Gpu::stream();
        const CUstream other = Gpu::stream();
        const CUevent event = Gpu::event();
        const CUevent after = Gpu::event();
        gate.hold(held);
        EXPECT_EQ(driver().event_record(event, held), kSuccess);
        EXPECT_EQ(driver().stream_wait_event(waiting, event, 0), kSuccess);
        EXPECT_EQ(driver().event_record(after, waiting), kSuccess);
        EXPECT_EQ(driver().event_record(event, other), kSuccess);
        EXPECT_EQ(driver().event_synchronize(event), kSuccess);  // the last record counts
        EXPECT_EQ(driver().event_query(after), kNotReady);
        gate.open();
        EXPECT_EQ(driver().event_synchronize(after), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(held), kSuccess);
    });
}

TEST(Event, OfAnotherDeviceCanBeWaitedForButNotRecorded) {
    apart({{"PACE_SIMULATED_GPUS", "2"}}, [] {
        const Gpu first(0);
        const CUevent event = Gpu::event();
        Gate gate;
        const CUstream held = Gpu::stream();
        gate.hold(held);
        EXPECT_EQ(driver().event_record(event, held), kSuccess);
        {
            const Gpu second(1);
            const CUstream stream = Gpu::stream();
            EXPECT_EQ(driver().event_record(event, stream), 400);
            EXPECT_EQ(driver().event_record(event, nullptr), 400);
            EXPECT_EQ(driver().event_record(event, held), kSuccess);
            EXPECT_EQ(driver().stream_wait_event(stream, event, 0), kSuccess);
            gate.open();
            EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        }
        EXPECT_EQ(driver().event_query(event), kSuccess);
        EXPECT_EQ(driver().stream_synchronize(held), kSuccess);
    });
}

TEST(Event, ForSeveralProcessesMayNotMeasureTime) {
    apart({}, [] {
        const Gpu gpu;
        CUevent event = nullptr;
        EXPECT_EQ(driver().event_create(&event, kEventInterprocess), 1);
        EXPECT_EQ(driver().event_create(&event, 64), 1);
        CUipcEventHandle handle{};
        EXPECT_EQ(driver().ipc_get_event_handle(&handle, Gpu::event()), 400);
        EXPECT_EQ(driver().ipc_open_event_handle(&event, handle), 400);
        EXPECT_EQ(driver().ipc_get_event_handle(&handle, Gpu::event(kShared)), kSuccess);
        EXPECT_EQ(driver().ipc_open_event_handle(&event, handle), 201) << "its own process";
    });
}

// Records an event behind a gate. The gate opens when the line tells to.
void record_when_told(Line& line) {
    const Gpu gpu;
    Gate gate;
    const CUevent event = Gpu::event(kShared);
    CUipcEventHandle handle{};
    EXPECT_EQ(driver().ipc_get_event_handle(&handle, event), kSuccess);
    gate.hold(nullptr);
    EXPECT_EQ(driver().event_record(event, nullptr), kSuccess);
    line.send(handle);
    line.await();
    gate.open();
    EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
    line.await();
}

CUevent opened(Line& line) {
    CUevent event = nullptr;
    EXPECT_EQ(driver().ipc_open_event_handle(&event, line.receive<CUipcEventHandle>()), kSuccess);
    return event;
}

TEST(Event, RecordedInOneProcessEndsAStreamsWaitInAnother) {
    apart({}, [] {
        Apart recorder({}, record_when_told);
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        const CUevent their = opened(recorder.line());
        const CUevent after = Gpu::event();
        EXPECT_EQ(driver().stream_wait_event(stream, their, 0), kSuccess);
        EXPECT_EQ(driver().event_record(after, stream), kSuccess);
        EXPECT_EQ(driver().event_query(their), kNotReady);
        EXPECT_EQ(driver().event_query(after), kNotReady);
        recorder.line().tell();
        EXPECT_EQ(driver().event_synchronize(after), kSuccess);
        EXPECT_EQ(driver().event_query(their), kSuccess);
        EXPECT_EQ(driver().event_destroy(their), kSuccess);
        recorder.line().tell();
        EXPECT_EQ(recorder.end(), 0);
    });
}

TEST(Event, OfAProcessThatDiesHoldsNobody) {
    apart({}, [] {
        Apart recorder({}, record_when_told);
        const Gpu gpu;
        const CUstream stream = Gpu::stream();
        const CUevent their = opened(recorder.line());
        EXPECT_EQ(driver().stream_wait_event(stream, their, 0), kSuccess);
        EXPECT_EQ(driver().event_query(their), kNotReady);
        recorder.kill();  // the process is reaped only later
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(driver().event_query(their), kSuccess);
        EXPECT_EQ(driver().event_synchronize(their), kSuccess);
        EXPECT_EQ(recorder.end(), 128 + SIGKILL);
    });
}

TEST(Event, CannotBeOpenedWhenItsProcessHasGone) {
    apart({}, [] {
        Apart recorder({}, record_when_told);
        const Gpu gpu;
        const auto handle = recorder.line().receive<CUipcEventHandle>();
        recorder.kill();
        EXPECT_EQ(recorder.end(), 128 + SIGKILL);
        CUevent event = nullptr;
        EXPECT_EQ(driver().ipc_open_event_handle(&event, handle), 400);
    });
}

}  // namespace
}  // namespace pace::simulated_gpu
