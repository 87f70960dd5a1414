// Sums in place on the simulated GPU: what orders the members' lanes when a part of a sum fails.
#include "daemon/gpu/device_sum.h"

#include <atomic>

#include <gtest/gtest.h>

#include "daemon/gpu/gpu_fixture.h"

namespace pace::daemon {
namespace {

// Kernels of which the first runs until it is released, and the second fails.
std::atomic<bool> released = false;
std::atomic<int> calls = 0;
const base::cuda::CudaDriver* driver = nullptr;

int sum_once(const pace_device_sum* /*sum*/, void* stream) {
    if (calls++ > 0) return 1;
    return driver->launch_host_function(
        static_cast<base::cuda::CUstream>(stream), [](void*) { released.wait(false); }, nullptr);
}

using DeviceSumTest = OnSimulatedGpu;

TEST_F(DeviceSumTest, AMembersLaterWorkFollowsASumOfWhichAPartFailed) {
    driver = &device_->driver();
    pace_device_plugin_table kernels{};
    kernels.sum = &sum_once;
    kernels.error_text = [](int) { return "broken"; };
    const std::vector<DeviceMember> members{member(0), member(100), member(200)};
    const auto summed = sum_on_device(kernels, members, layout_, 1.0);
    ASSERT_FALSE(summed);
    EXPECT_NE(summed.error().message.find("broken"), std::string::npos);
    int done = 0;
    for (const DeviceMember& member : members) {
        EXPECT_FALSE(member.contents->made);
        member.contents->lane->when_done({}, [&](const Result<>& ended) {
            EXPECT_TRUE(ended);
            EXPECT_TRUE(released) << "work of another lane ran beside the kernel";
            ++done;
        });
    }
    // Time in which the lanes would run their work, if nothing held them.
    const base::Timer release = loop_->run_after(std::chrono::milliseconds(100), [] {
        released = true;
        released.notify_all();
    });
    turn_until([&] { return done == 3; });
}

}  // namespace
}  // namespace pace::daemon
