// What a node tells of its memory, and how often it looks. GPUs are in machine_gpus_test.cpp.
#include "daemon/runtime/machine.h"

#include <thread>

#include <gtest/gtest.h>

#include "daemon/runtime/memory_room.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

// Heartbeats at `now` until one tells something.
control::MachineReport told_at(Machine& machine, base::TimePoint now) {
    const auto end = base::now() + std::chrono::seconds(30);
    control::MachineReport report;
    while (report == control::MachineReport{} && base::now() < end) {
        report = machine.report(now);
        std::this_thread::yield();
    }
    return report;
}

TEST(Machine, TellsTheHostsMemory) {
    Machine machine(nullptr);
    const control::MachineReport report = told_at(machine, base::now());
    EXPECT_EQ(report.memory_bytes, host_memory().bytes);
    EXPECT_GT(report.available_bytes, 0U);
    EXPECT_LE(report.available_bytes, report.memory_bytes);
    EXPECT_TRUE(report.gpus.empty());
}

TEST(Machine, TheFirstHeartbeatWaitsForNothing) {
    Machine machine(nullptr);
    EXPECT_EQ(machine.report(base::now()), control::MachineReport{});
}

TEST(Machine, LooksOnceASecondAtMost) {
    Machine machine(nullptr);
    const base::TimePoint now = base::now();
    EXPECT_NE(told_at(machine, now), control::MachineReport{});
    for (int ms = 1; ms < 1000; ++ms) {
        EXPECT_EQ(machine.report(now + milliseconds(ms)), control::MachineReport{});
        (void)host_memory();  // takes as long as a look would
    }
    EXPECT_NE(told_at(machine, now + Machine::kLookEvery), control::MachineReport{});
    EXPECT_EQ(machine.report(now + Machine::kLookEvery), control::MachineReport{})
        << "what was told is not told again";
}

}  // namespace
}  // namespace pace::daemon
