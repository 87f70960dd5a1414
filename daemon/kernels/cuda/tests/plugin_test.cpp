// Plug-in tests: open the plug-in on any machine. The machine may have a GPU, no GPU, or no driver
// of NVIDIA.
#include <gtest/gtest.h>

#include <string>

#include "daemon/kernels/cuda/tests/test_plugin.h"
#include "protocol/types.h"

namespace pace::kernels::cuda {
namespace {

class Plugin : public testing::Test {
  protected:
    void SetUp() override { ASSERT_NE(plugin(), nullptr) << dlerror(); }
};

TEST_F(Plugin, HasTheTableThatTheDaemonWasBuiltFor) {
    EXPECT_EQ(plugin()->version, PACE_DEVICE_PLUGIN_VERSION);
    EXPECT_EQ(plugin()->struct_size, sizeof(pace_device_plugin_table));
}

TEST_F(Plugin, LacksNoFunction) {
    EXPECT_NE(plugin()->check, nullptr);
    EXPECT_NE(plugin()->error_text, nullptr);
    EXPECT_NE(plugin()->sum, nullptr);
    EXPECT_NE(plugin()->convert, nullptr);
    EXPECT_NE(plugin()->top_k_workspace, nullptr);
    EXPECT_NE(plugin()->top_k, nullptr);
    EXPECT_NE(plugin()->merge_workspace, nullptr);
    EXPECT_NE(plugin()->merge, nullptr);
    EXPECT_NE(plugin()->scatter_add, nullptr);
    EXPECT_NE(plugin()->gather, nullptr);
    EXPECT_NE(plugin()->scatter, nullptr);
}

TEST_F(Plugin, SaysWhatItIs) {
    EXPECT_EQ(std::string(plugin()->name).rfind("CUDA ", 0), 0U) << plugin()->name;
    EXPECT_NE(std::string(plugin()->architectures), "");
    EXPECT_EQ(std::string(plugin()->architectures).find_first_not_of("0123456789 "),
              std::string::npos)
        << plugin()->architectures;
}

TEST_F(Plugin, ExportsNothingElse) {
    void* library = dlopen(PACE_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    EXPECT_EQ(dlsym(library, "cudaLaunchKernel"), nullptr);
    EXPECT_EQ(dlsym(library, "cudaMalloc"), nullptr);
    dlclose(library);
}

TEST_F(Plugin, SaysWhyItCannotWorkWithADeviceThatIsNotThere) {
    const int error = plugin()->check(4096);
    ASSERT_NE(error, 0);
    ASSERT_NE(plugin()->error_text(error), nullptr);
    EXPECT_NE(std::string(plugin()->error_text(error)), "");
}

TEST_F(Plugin, RefusesWhatItsHeaderDoesNotAllow) {
    float value = 0;
    pace_device_sum sum = {};
    sum.count = 1;
    sum.input_count = 1;
    sum.output_count = 1;
    sum.inputs[0] = &value;
    sum.outputs[0] = &value;
    sum.dtype = static_cast<pace_device_dtype>(protocol::DType::u32);
    EXPECT_NE(plugin()->sum(&sum, nullptr), 0);
    sum.dtype = static_cast<pace_device_dtype>(protocol::DType::f32);
    sum.input_count = PACE_DEVICE_MEMBERS_MAX + 1;
    EXPECT_NE(plugin()->sum(&sum, nullptr), 0);
    sum.input_count = 2;  // one of them is null
    EXPECT_NE(plugin()->sum(&sum, nullptr), 0);

    pace_device_convert convert = {};
    convert.count = 1;
    convert.in = &value;
    convert.out = &value;
    convert.from = static_cast<pace_device_dtype>(protocol::DType::f32);
    convert.to = 0;
    EXPECT_NE(plugin()->convert(&convert, nullptr), 0);

    pace_device_top_k top_k = {};
    top_k.count = 1;
    top_k.k = 2;
    EXPECT_NE(plugin()->top_k(&top_k, nullptr), 0);
    pace_device_merge merge = {};
    merge.a_count = 1;
    EXPECT_NE(plugin()->merge(&merge, nullptr), 0);
}

TEST_F(Plugin, NeedsAWorkspaceThatGrowsWithItsLists) {
    EXPECT_GE(plugin()->top_k_workspace(1000000, 10000), 1000000U / 8);
    EXPECT_LT(plugin()->top_k_workspace(1000000, 10000), 4 * 1000000U / 2);
    EXPECT_GT(plugin()->top_k_workspace(1000000, 500000), plugin()->top_k_workspace(1000000, 1));
    EXPECT_GT(plugin()->merge_workspace(1000000, 0), plugin()->merge_workspace(10, 10));
}

}  // namespace
}  // namespace pace::kernels::cuda
