// Sums in place on the simulated GPU: what orders the members' lanes when a part of a sum fails.
#include "daemon/gpu/device_sum.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/gpu/gpu_fixture.h"

namespace pace::daemon {
namespace {

// Kernels of which the first runs until it is released, and the second fails.
std::atomic<bool> released = false;
std::atomic<int> calls = 0;
const base::cuda::CudaDriver* driver = nullptr;

int sum_once(const pace_device_sum_segments* /*sum*/, void* stream) {
    if (calls++ > 0) return 1;
    return driver->launch_host_function(
        static_cast<base::cuda::CUstream>(stream), [](void*) { released.wait(false); }, nullptr);
}

// The plug-in's own, counted.
const pace_device_plugin_table* plugin = nullptr;
int runs = 0;

int count_runs(const pace_device_sum_segments* sum, void* stream) {
    ++runs;
    return plugin->sum_segments(sum, stream);
}

class DeviceSumTest : public OnSimulatedGpu {
  protected:
    // A member whose buffers alone begin with `first`, `first` + 1, ...
    DeviceMember member_with(const std::vector<size_t>& counts, float first, double weight) {
        auto lane = DeviceLane::create(*device_);
        EXPECT_TRUE(lane);
        auto contents = std::make_shared<DeviceContents>();
        contents->lane = *lane;
        for (const size_t count : counts) contents->buffers.push_back(buffer(count, first++));
        return {contents, weight};
    }
    // Begins to count the runs.
    pace_device_plugin_table counted() {
        const auto kernels = devices_->kernels(*device_);
        EXPECT_TRUE(kernels);
        plugin = *kernels;
        runs = 0;
        pace_device_plugin_table table = *plugin;
        table.sum_segments = &count_runs;
        return table;
    }
    void finish(const DeviceMember& member) {
        bool done = false;
        member.contents->lane->when_done({}, [&](const Result<>& ended) {
            EXPECT_TRUE(ended);
            done = true;
        });
        turn_until([&] { return done; });
    }
};

TEST_F(DeviceSumTest, AMembersLaterWorkFollowsASumOfWhichAPartFailed) {
    driver = &device_->driver();
    pace_device_plugin_table kernels{};
    kernels.sum_segments = &sum_once;
    kernels.error_text = [](int) { return "broken"; };
    const std::vector<DeviceMember> members{member(0), member(100), member(200)};
    const collectives::Layout two_types(
        {{protocol::DType::f32, kFirst}, {protocol::DType::f16, kSecond}});
    const auto summed = sum_on_device(kernels, members, two_types, 1.0);
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

TEST_F(DeviceSumTest, ManySmallBuffersAreSummedByOneCall) {
    const pace_device_plugin_table kernels = counted();
    constexpr size_t kBuffers = 256;
    std::vector<size_t> counts;
    std::vector<collectives::Segment> segments;
    for (size_t s = 0; s < kBuffers; ++s) {
        counts.push_back(100 + s);
        segments.push_back({protocol::DType::f32, counts.back()});
    }
    const std::vector<DeviceMember> members{member_with(counts, 0, 1.0),
                                            member_with(counts, 1000, 3.0)};
    ASSERT_TRUE(sum_on_device(kernels, members, collectives::Layout(segments), 0.5));
    EXPECT_EQ(runs, 1);
    for (const DeviceMember& member : members) {
        finish(member);
        for (size_t s = 0; s < kBuffers; ++s) {
            const std::vector<float> values = on_device(*member.contents->buffers[s]);
            ASSERT_EQ(values.size(), counts[s]);
            for (size_t i = 0; i < values.size(); ++i) {
                const auto first = static_cast<float>(s + i);
                ASSERT_EQ(values[i], 0.5F * (first + 3 * (first + 1000))) << s << ", " << i;
            }
        }
    }
}

TEST_F(DeviceSumTest, EachTypeHasACall) {
    const pace_device_plugin_table kernels = counted();
    const std::vector<DeviceMember> members{member_with({4, 4, 4, 4}, 0, 1.0)};
    using protocol::DType;
    const collectives::Layout layout(
        {{DType::f32, 4}, {DType::f32, 4}, {DType::bf16, 4}, {DType::f32, 4}});
    ASSERT_TRUE(sum_on_device(kernels, members, layout, 1.0));
    EXPECT_EQ(runs, 3);
    finish(members.front());
}

}  // namespace
}  // namespace pace::daemon
