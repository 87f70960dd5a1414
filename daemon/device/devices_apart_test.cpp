// Devices tests with settings of the simulated driver, which a process reads once.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "daemon/device/devices.h"
#include "tests/simulated_gpu/simulated_gpu.h"
#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::device {
namespace {

// Returns why the only GPU cannot be opened; empty: it can.
std::string refusal() {
    const auto loop = base::EventLoop::create();
    Devices devices(**loop, {.plugins = simulated_gpu::kPlugins});
    devices.open_all();
    const Facts facts = devices.list().front().facts;
    const auto found = devices.find(facts.uuid);
    const std::string refused = found ? "" : found.error().message;
    EXPECT_EQ(facts.closed_by_mode, refused);
    if (!found) {
        EXPECT_EQ(found.error().kind, base::ErrorKind::not_found);
        EXPECT_FALSE(devices.list().front().open);
    }
    return refused;
}

// The daemon must not take the GPU away from the only process that may use it.
TEST(DevicesApart, AGpuThatItsModeClosesIsRefusedWithWhatToDo) {
    const auto expect_words = [](const char* mode, const char* mps, const char* words) {
        simulated_gpu::apart(
            {{"PACE_SIMULATED_GPU_COMPUTE_MODE", mode}, {"PACE_SIMULATED_GPU_MPS", mps}}, [words] {
                const std::string refused = refusal();
                EXPECT_NE(refused.find(words), std::string::npos) << refused;
                EXPECT_NE(refused.find("nvidia-smi -i GPU-"), std::string::npos) << refused;
            });
    };
    expect_words("3", "0", "in the compute mode Exclusive_Process");
    expect_words("2", "1", "in the compute mode Prohibited");
}

TEST(DevicesApart, AGpuThatMpsSharesIsOpened) {
    simulated_gpu::apart(
        {{"PACE_SIMULATED_GPU_COMPUTE_MODE", "3"}, {"PACE_SIMULATED_GPU_MPS", "1"}},
        [] { EXPECT_EQ(refusal(), ""); });
}

TEST(DevicesApart, AGpuThatCouldNotBeOpenedIsTriedAgainBesideTheLoop) {
    simulated_gpu::apart(
        {{"PACE_SIMULATED_GPU_FAIL_UNTIL", "cuDevicePrimaryCtxRetain:2"},
         {"PACE_SIMULATED_GPU_SLOW", "cuDevicePrimaryCtxRetain:400000"}},
        [] {
            const auto loop = base::EventLoop::create();
            Devices devices(**loop, {.plugins = simulated_gpu::kPlugins});
            devices.open_all();
            const Facts facts = devices.list().front().facts;
            EXPECT_FALSE(devices.list().front().open);
            int attempts = 0;
            base::Duration longest{};
            for (; attempts < 1000; ++attempts) {
                const auto begun = base::now();
                const auto found = devices.find(facts.uuid);
                longest = std::max(longest, base::now() - begun);
                if (found) break;
                EXPECT_NE(found.error().message.find("open " + facts.id()), std::string::npos)
                    << found.error().message;
                (*loop)->turn(true);
            }
            EXPECT_TRUE(devices.list().front().open);
            EXPECT_GT(attempts, 1);
            EXPECT_LT(longest, std::chrono::milliseconds(300));
            EXPECT_EQ(devices.list().front().kernels, "simulated 1");
        });
}

// The callback holds memory that the stream still uses.
TEST(DevicesApart, WorkThatCannotBeMarkedIsWaitedFor) {
    simulated_gpu::apart({{"PACE_SIMULATED_GPU_FAIL", "cuEventRecord:1"}}, [] {
        const auto loop = base::EventLoop::create();
        Devices devices(**loop, {.plugins = simulated_gpu::kPlugins});
        devices.open_all();
        Device& device = **devices.find(devices.list().front().facts.uuid);
        const auto stream = device.create_stream();
        ASSERT_TRUE(stream);
        simulated_gpu::Gate gate;
        {
            const auto scope = device.enter();
            gate.hold(*stream);
        }
        std::optional<base::Result<>> told;
        device.when_done(*stream, [&](const base::Result<>& result) { told = result; });
        for (int turns = 0; turns < 100; ++turns) (*loop)->turn(false);
        EXPECT_FALSE(told);
        gate.open();
        while (!told) (*loop)->turn(true);
        EXPECT_FALSE(*told);
        device.destroy_stream(*stream);
    });
}

}  // namespace
}  // namespace pace::device
