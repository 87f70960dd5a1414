// What a node tells of its GPUs, with the simulated driver.
#include <thread>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"
#include "daemon/runtime/machine.h"
#include "tests/simulated_gpu/simulated_gpu.h"

namespace pace::daemon {
namespace {

class MachineGpus : public testing::Test {
  protected:
    void SetUp() override {
        simulated_gpu::use_simulated_gpu();
        auto made = base::EventLoop::create();
        ASSERT_TRUE(made);
        loop_ = std::move(*made);
        devices_ = std::make_unique<device::Devices>(
            *loop_, device::DeviceOptions{false, simulated_gpu::kPlugins});
    }
    // The next look's only GPU; an empty one if it finds none.
    control::GpuReport told() {
        now_ += Machine::kLookEvery;
        const auto end = base::now() + std::chrono::seconds(30);
        control::MachineReport report;
        while (report == control::MachineReport{} && base::now() < end) {
            report = machine().report(now_);
            std::this_thread::yield();
        }
        return report.gpus.size() == 1 ? report.gpus[0] : control::GpuReport{};
    }
    Machine& machine() {
        if (!machine_) machine_ = std::make_unique<Machine>(devices_.get());
        return *machine_;
    }

    std::unique_ptr<base::EventLoop> loop_;
    std::unique_ptr<device::Devices> devices_;
    std::unique_ptr<Machine> machine_;
    base::TimePoint now_ = base::now();
};

TEST_F(MachineGpus, AreToldAsSoonAsSomebodyHasLookedForThem) {
    EXPECT_EQ(told(), control::GpuReport{}) << "the driver is not touched";
    devices_->look();
    const control::GpuReport gpu = told();
    EXPECT_EQ(gpu.name, "simulated GPU");
    EXPECT_EQ(gpu.memory_bytes, devices_->list().front().facts.bytes);
    EXPECT_FALSE(gpu.has_used) << "nobody has opened it";
}

TEST_F(MachineGpus, MemoryInUseIsToldOnceOneIsOpen) {
    devices_->look();
    const auto opened = devices_->find(devices_->list().front().facts.uuid);
    ASSERT_TRUE(opened);
    const control::GpuReport gpu = told();
    EXPECT_TRUE(gpu.has_used);
    EXPECT_EQ(gpu.used_bytes, gpu.memory_bytes - *(**opened).free_bytes());
}

}  // namespace
}  // namespace pace::daemon
