// Sums in place with a driver that fails on the way, in processes of their own.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/gpu/gpu_fixture.h"
#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::daemon {
namespace {

simulated_gpu::Gate* gate = nullptr;

int hold(const pace_device_sum_segments* /*sum*/, void* stream) {
    gate->hold(static_cast<base::cuda::CUstream>(stream));
    return 0;
}

// The first member's lane sums into the buffers of both. The second one's lane follows it no more.
class SumThatNobodyFollows : public OnSimulatedGpu {
  public:
    void TestBody() override {
        SetUp();
        simulated_gpu::Gate held;
        gate = &held;
        pace_device_plugin_table kernels{};
        kernels.sum_segments = &hold;
        kernels.error_text = [](int) { return ""; };
        std::vector<DeviceMember> members{member(0), member(100)};
        EXPECT_FALSE(sum_on_device(kernels, members, layout_, 1.0));
        const std::weak_ptr<Buffer> of_the_second = members[1].contents->buffers.front();
        members.pop_back();
        // What is queued on the second member's lane has ended after some turns.
        const base::TimePoint end = base::now() + std::chrono::milliseconds(100);
        while (base::now() < end) loop_->turn(false);
        EXPECT_FALSE(of_the_second.expired()) << "freed while the sum writes to it";
        held.open();
        turn_until([&] { return of_the_second.expired(); });
    }
};

TEST(DeviceSumApart, AMemberWhoseLaneCannotFollowKeepsItsBuffers) {
    // The first lane waits for the second, then the second for the first.
    simulated_gpu::apart({{"PACE_SIMULATED_GPU_FAIL", "cuStreamWaitEvent:2"}},
                         [] { SumThatNobodyFollows().TestBody(); });
}

}  // namespace
}  // namespace pace::daemon
