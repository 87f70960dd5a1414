// Members on a simulated GPU, each with buffers of two segments.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/device/devices_fixture.h"
#include "daemon/gpu/device_sum.h"
#include "daemon/runtime/scratch.h"

namespace pace::daemon {

inline constexpr size_t kFirst = 700'001;  // floats; the second segment does not begin with a piece
inline constexpr size_t kSecond = 1'900'003;

class OnSimulatedGpu : public device::SimulatedDevices {
  protected:
    void SetUp() override {
        SimulatedDevices::SetUp();
        device_ = &first();
        layout_ =
            collectives::Layout({{protocol::DType::f32, kFirst}, {protocol::DType::f32, kSecond}});
        ASSERT_TRUE(scratch_.reserve(layout_.bytes()));
        ASSERT_TRUE(scratch_.pin(*device_));
    }

    BufferPtr buffer(size_t count, float first) {
        auto made = std::make_shared<Buffer>();
        made->count = count;
        auto twin = base::MappedMemfd::create("twin", count * sizeof(float), false);
        auto memory = device::DeviceMemory::create(*device_, count * sizeof(float));
        EXPECT_TRUE(twin && memory);
        made->memory = std::move(*twin);
        made->on_device.emplace(OnDevice{std::move(*memory), std::nullopt});
        std::vector<float> values(count);
        std::iota(values.begin(), values.end(), first);
        write(*made, values);
        return made;
    }
    DeviceMember member(float first) {
        auto lane = DeviceLane::create(*device_);
        EXPECT_TRUE(lane);
        auto contents = std::make_shared<DeviceContents>();
        contents->lane = *lane;
        contents->buffers = {buffer(kFirst, first), buffer(kSecond, first + 0.5F)};
        return {contents, 1.0};
    }
    void write(const Buffer& buffer, const std::vector<float>& values) {
        const auto scope = device_->enter();
        const auto& driver = device_->driver();
        base::cuda::CUstream stream = *device_->create_stream();
        ASSERT_EQ(driver.copy_to_device(buffer.on_device->memory.address(), values.data(),
                                        buffer.bytes(), stream),
                  base::cuda::kSuccess);
        ASSERT_EQ(driver.stream_synchronize(stream), base::cuda::kSuccess);
        device_->destroy_stream(stream);
    }
    std::vector<float> on_device(const Buffer& buffer) {
        std::vector<float> values(buffer.count);
        const auto scope = device_->enter();
        const auto& driver = device_->driver();
        base::cuda::CUstream stream = *device_->create_stream();
        EXPECT_EQ(driver.copy_to_host(values.data(), buffer.on_device->memory.address(),
                                      buffer.bytes(), stream),
                  base::cuda::kSuccess);
        EXPECT_EQ(driver.stream_synchronize(stream), base::cuda::kSuccess);
        device_->destroy_stream(stream);
        return values;
    }
    void turn_until(const std::function<bool()>& so) {
        while (!so()) loop_->turn(true);
    }

    device::Device* device_ = nullptr;
    collectives::Layout layout_;
    Scratch scratch_;
};

}  // namespace pace::daemon
