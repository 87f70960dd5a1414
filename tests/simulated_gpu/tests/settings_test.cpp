#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

struct Facts {
    int count;
    CUuuid last;
};

Facts facts() {
    Facts facts{};
    EXPECT_EQ(driver().device_get_count(&facts.count), kSuccess);
    EXPECT_EQ(driver().device_get_uuid(&facts.last, facts.count - 1), kSuccess);
    return facts;
}

int attribute(int which) {
    int value = -1;
    EXPECT_EQ(driver().device_get_attribute(&value, which, 0), kSuccess);
    return value;
}

TEST(Settings, OneDeviceIsTheDefault) {
    apart({}, [] {
        EXPECT_EQ(facts().count, 1);
        std::array<char, 64> name{};
        EXPECT_EQ(driver().device_get_name(name.data(), name.size(), 0), kSuccess);
        EXPECT_STREQ(name.data(), "simulated GPU");
        size_t bytes = 0;
        EXPECT_EQ(driver().device_total_mem(&bytes, 0), kSuccess);
        EXPECT_EQ(bytes, size_t{1} << 30U);
        EXPECT_EQ(attribute(kAttributeMajor), 9);
        EXPECT_EQ(attribute(kAttributeMinor), 0);
        EXPECT_EQ(attribute(kAttributeVirtualMemory), 1);
        EXPECT_EQ(attribute(kAttributeMemoryFd), 1);
        EXPECT_EQ(attribute(kAttributeIpcEvents), 1);
        CUdevice device = 0;
        EXPECT_EQ(driver().device_get(&device, 1), 101);
    });
}

TEST(Settings, NoDeviceIsADriverWithoutAny) {
    apart({{"PACE_SIMULATED_GPUS", "0"}}, [] {
        ASSERT_TRUE(CudaDriver::get());
        EXPECT_EQ(driver().init(0), kNoDevice);
        int count = -1;
        EXPECT_EQ(driver().device_get_count(&count), 3);
    });
}

TEST(Settings, VirtualMemoryCanBeMissing) {
    apart({{"PACE_SIMULATED_GPU_NO_VMM", "1"}}, [] {
        EXPECT_EQ(attribute(kAttributeVirtualMemory), 0);
        EXPECT_EQ(attribute(kAttributeMemoryFd), 0);
        EXPECT_EQ(attribute(kAttributeIpcEvents), 1);
    });
}

TEST(Settings, TheSameDeviceHasTheSameNumberInProcessesThatCountOtherwise) {
    apart({}, [] {
        const auto tell = [](Line& line) { line.send(facts()); };
        Apart both({{"PACE_SIMULATED_GPUS", "2"}}, tell);
        Apart second({{"PACE_SIMULATED_GPU_FIRST", "1"}}, tell);
        Apart first({}, tell);
        const CUuuid of_second = second.line().receive<Facts>().last;
        const CUuuid of_both = both.line().receive<Facts>().last;
        const CUuuid of_first = first.line().receive<Facts>().last;
        EXPECT_EQ(text_of(of_second), text_of(of_both));
        EXPECT_NE(text_of(of_second), text_of(of_first));
        EXPECT_EQ(both.end() + second.end() + first.end(), 0);
    });
}

TEST(Settings, ACallCanBeMadeToFail) {
    apart({{"PACE_SIMULATED_GPU_FAIL", "cuMemHostRegister_v2:3,cuStreamCreate:1"}}, [] {
        const Gpu gpu;
        CUstream stream = nullptr;
        EXPECT_EQ(driver().stream_create(&stream, 0), 999);
        std::array<char, 4> memory{};
        EXPECT_EQ(driver().mem_host_register(&memory[0], 1, 0), kSuccess);
        EXPECT_EQ(driver().mem_host_register(&memory[1], 1, 0), kSuccess);
        EXPECT_EQ(driver().mem_host_register(&memory[2], 1, 0), 999);
        EXPECT_EQ(driver().mem_host_register(&memory[3], 1, 0), 999);
        EXPECT_EQ(driver().mem_host_unregister(&memory[0]), kSuccess);
    });
}

TEST(Settings, ACallCanBeMadeToFailAtFirst) {
    apart({{"PACE_SIMULATED_GPU_FAIL_UNTIL", "cuStreamCreate:2"}}, [] {
        const Gpu gpu;
        CUstream stream = nullptr;
        EXPECT_EQ(driver().stream_create(&stream, 0), 999);
        EXPECT_EQ(driver().stream_create(&stream, 0), 999);
        EXPECT_EQ(driver().stream_create(&stream, 0), kSuccess);
    });
}

TEST(Settings, ACallCanBeMadeSlow) {
    apart({{"PACE_SIMULATED_GPU_SLOW", "cuMemHostUnregister:20000"}}, [] {
        const Gpu gpu;
        char memory = 0;
        EXPECT_EQ(driver().mem_host_register(&memory, 1, 0), kSuccess);
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ(driver().mem_host_unregister(&memory), kSuccess);
        EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(20));
    });
}

TEST(Settings, AContextCanBeMadeToFailForGood) {
    apart({{"PACE_SIMULATED_GPU_STICKY", "cuMemHostRegister_v2:2"}}, [] {
        CUcontext context = nullptr;
        ASSERT_EQ(driver().primary_context_retain(&context, 0), kSuccess);
        ASSERT_EQ(driver().context_push(context), kSuccess);
        std::array<char, 2> memory{};
        EXPECT_EQ(driver().mem_host_register(&memory[0], 1, 0), kSuccess);
        EXPECT_EQ(driver().mem_host_register(&memory[1], 1, 0), kIllegalAddress);
        CUstream stream = nullptr;
        EXPECT_EQ(driver().stream_create(&stream, 0), kIllegalAddress);
        EXPECT_EQ(driver().mem_host_unregister(&memory[0]), kIllegalAddress);
        const std::string text = driver().error(kIllegalAddress, "use").message;
        EXPECT_NE(text.find("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), std::string::npos) << text;
    });
}

TEST(Settings, SlipsInThemAreFailures) {
    for (const char* const wrong : {"cuNoSuchFunction:1", "cuMemCreate", "cuMemCreate:0", ":1"})
        for (const char* const name : {"PACE_SIMULATED_GPU_FAIL", "PACE_SIMULATED_GPU_FAIL_UNTIL",
                                       "PACE_SIMULATED_GPU_SLOW", "PACE_SIMULATED_GPU_STICKY"})
            apart({{name, wrong}}, [&] { EXPECT_FALSE(CudaDriver::get()) << name << wrong; });
    apart({{"PACE_SIMULATED_GPUS", "many"}}, [] { EXPECT_FALSE(CudaDriver::get()); });
}

TEST(Settings, ResultsHaveTheDriversNames) {
    apart({}, [] {
        const std::string text = driver().error(kOutOfMemory, "allocate").message;
        EXPECT_EQ(text, "allocate: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory");
        const char* name = "unset";
        EXPECT_EQ(driver().get_error_name(12345, &name), 1);
        EXPECT_EQ(name, nullptr);
    });
}

}  // namespace
}  // namespace pace::simulated_gpu
