// NcclChoice tests, with the simulated driver and the simulated NCCL.
#include "daemon/nccl_choice.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "daemon/device/nccl/nccl_library.h"
#include "tests/simulated_gpu/simulated_gpu.h"

namespace pace::daemon {
namespace {

class Simulated : public testing::Environment {
  public:
    void SetUp() override {
        simulated_gpu::use_simulated_gpu();
        simulated_gpu::use_simulated_nccl();
    }
};
const auto* const simulated = testing::AddGlobalTestEnvironment(new Simulated);

class NcclChoiceTest : public testing::Test {
  protected:
    void SetUp() override {
        loop_ = base::EventLoop::create().value();
        gpus_ = std::make_unique<device::Devices>(
            *loop_, device::DeviceOptions{.off = false, .plugins = simulated_gpu::kPlugins});
    }

    std::unique_ptr<base::EventLoop> loop_;
    std::unique_ptr<device::Devices> gpus_;
};

TEST_F(NcclChoiceTest, AmongGpusItIsThatOfTheLibrary) {
    gpus_->look();
    const NcclChoice choice = choose_nccl(true, *gpus_);
    const auto& library = device::NcclLibrary::get();
    ASSERT_TRUE(library) << library.error().message;
    EXPECT_EQ(choice.version, static_cast<uint32_t>((*library)->version));
    EXPECT_EQ(choice.absence, "");
}

TEST(NcclNetworks, AreThoseOfTheDaemonUnlessTheEnvironmentSaysOtherwise) {
    unsetenv("NCCL_SOCKET_IFNAME");
    name_networks_for_nccl("mlx5_0:1");
    EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr) << "no interface is named";
    name_networks_for_nccl("eth1,mlx5_0:1,eth2");
    EXPECT_STREQ(std::getenv("NCCL_SOCKET_IFNAME"), "=eth1,eth2");
    name_networks_for_nccl("lo");
    EXPECT_STREQ(std::getenv("NCCL_SOCKET_IFNAME"), "=eth1,eth2");
    unsetenv("NCCL_SOCKET_IFNAME");
}

TEST_F(NcclChoiceTest, ThereIsNoneWhereItIsOff) {
    gpus_->look();
    const NcclChoice choice = choose_nccl(false, *gpus_);
    EXPECT_EQ(choice.version, 0U);
    EXPECT_EQ(choice.absence, "the setting `nccl` is off");
}

TEST_F(NcclChoiceTest, ThereIsNoneWithoutAGpu) {
    EXPECT_EQ(choose_nccl(true, *gpus_).version, 0U) << "not looked for yet";
    device::Devices none(*loop_, {.off = true, .plugins = ""});
    none.look();
    const NcclChoice choice = choose_nccl(true, none);
    EXPECT_EQ(choice.version, 0U);
    EXPECT_EQ(choice.absence, "this node uses no GPU: the setting `gpu` is off");
}

}  // namespace
}  // namespace pace::daemon
