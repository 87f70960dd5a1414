// The GPUs of this process, with the simulated driver.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "daemon/device/devices.h"
#include "tests/simulated_gpu/simulated_gpu.h"

namespace pace::device {

class SimulatedDriver : public testing::Environment {
  public:
    void SetUp() override { simulated_gpu::use_simulated_gpu(); }
};
inline const auto* const simulated_driver = testing::AddGlobalTestEnvironment(new SimulatedDriver);

class SimulatedDevices : public testing::Test {
  protected:
    void SetUp() override {
        auto made = base::EventLoop::create();
        ASSERT_TRUE(made);
        loop_ = std::move(*made);
        devices_ = std::make_unique<Devices>(*loop_, DeviceOptions{false, simulated_gpu::kPlugins});
        devices_->look();
    }

    Device& first() {
        const auto found = devices_->find(devices_->list().front().facts.uuid);
        EXPECT_TRUE(found) << found.error().message;
        return **found;
    }

    std::unique_ptr<base::EventLoop> loop_;
    std::unique_ptr<Devices> devices_;
};

}  // namespace pace::device
