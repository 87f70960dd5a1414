// Which GPU a device is, in processes of their own: each has the devices that it needs.
#include "daemon/device/board.h"

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"

namespace pace::device {
namespace {

using base::cuda::CudaDriver;

std::string board(int ordinal) {
    const auto driver = CudaDriver::get();
    EXPECT_TRUE(driver);
    const auto found = board_of(**driver, ordinal);
    EXPECT_TRUE(found);
    return text_of(found.value_or(base::cuda::CUuuid{}));
}

TEST(Board, OfEachGpuIsAnother) {
    simulated_gpu::apart({{"PACE_SIMULATED_GPUS", "2"}}, [] {
        EXPECT_EQ(board(0), board(0));
        EXPECT_NE(board(0), board(1));
    });
}

TEST(Board, OfTheInstancesOfAGpuIsTheSame) {
    simulated_gpu::apart({{"PACE_SIMULATED_GPUS", "2"}, {"PACE_SIMULATED_GPU_INSTANCES", "1"}},
                         [] { EXPECT_EQ(board(0), board(1)); });
}

TEST(Board, OfNoDeviceIsNone) {
    simulated_gpu::apart({}, [] {
        const auto driver = CudaDriver::get();
        ASSERT_TRUE(driver);
        EXPECT_FALSE(board_of(**driver, 7));
    });
}

}  // namespace
}  // namespace pace::device
