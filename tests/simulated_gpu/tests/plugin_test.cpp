#include <dlfcn.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/device/plugin.h"
#include "daemon/kernels/reference.h"
#include "tests/simulated_gpu/simulated_gpu.h"
#include "tests/simulated_gpu/tests/apart.h"
#include "tests/simulated_gpu/tests/gpu.h"

namespace pace::simulated_gpu {
namespace {

constexpr auto kF32 = static_cast<pace_device_dtype>(protocol::DType::f32);
constexpr auto kF64 = static_cast<pace_device_dtype>(protocol::DType::f64);
constexpr auto kF16 = static_cast<pace_device_dtype>(protocol::DType::f16);
constexpr auto kBf16 = static_cast<pace_device_dtype>(protocol::DType::bf16);
constexpr auto kU32 = static_cast<pace_device_dtype>(protocol::DType::u32);

void* open_library(const std::string& folder, const char* file = "pace-device-cuda.so") {
    void* const library = dlopen((folder + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) ADD_FAILURE() << dlerror();
    return library;
}

const pace_device_plugin_table& table_in(const std::string& folder) {
    const auto entry = reinterpret_cast<pace_device_plugin_entry>(
        dlsym(open_library(folder), "pace_device_plugin"));
    return *entry();
}

const pace_device_plugin_table& plugin() {
    const pace_device_plugin_table& table = table_in(kPlugins);
    EXPECT_EQ(table.check(0), 0);
    return table;
}

TEST(Plugin, IsThereUnderItsOwnNameAndTheDaemons) {
    apart({}, [] {
        EXPECT_EQ(open_library(kPlugins), open_library(kPlugins, "pace-device-simulated.so"));
        EXPECT_EQ(plugin().version, PACE_DEVICE_PLUGIN_VERSION);
        EXPECT_EQ(plugin().struct_size, sizeof(pace_device_plugin_table));
        EXPECT_STREQ(plugin().name, "simulated 1");
        EXPECT_EQ(plugin().check(0), 0);
    });
}

TEST(Plugin, RefusesKernelsThatWereNotLoaded) {
    apart({}, [] {
        const Gpu gpu;
        const pace_device_scatter_add nothing{};
        EXPECT_NE(table_in(kPlugins).scatter_add(&nothing, nullptr), 0);
        EXPECT_EQ(plugin().scatter_add(&nothing, nullptr), 0);
    });
}

TEST(Plugin, SumsIntoEveryOutputInTheStreamsTurn) {
    apart({}, [] {
        const Gpu gpu;
        Gate gate;
        const CUstream stream = Gpu::stream();
        std::vector<float> a{1, 2, 3};
        std::vector<float> b{10, 20, 30};
        std::vector<float> expected(3);
        const std::array sources{kernels::Source{reinterpret_cast<std::byte*>(a.data()), 2},
                                 kernels::Source{reinterpret_cast<std::byte*>(b.data()), 1}};
        kernels::reference_sum(protocol::DType::f32, sources, 0.5,
                               reinterpret_cast<std::byte*>(expected.data()), 3);
        gate.hold(stream);
        {
            pace_device_sum sum{};
            sum.dtype = kF32;
            sum.input_count = 2;
            sum.output_count = 2;
            sum.count = 3;
            sum.scale = 0.5;
            sum.weights[0] = 2;
            sum.weights[1] = 1;
            sum.inputs[0] = sum.outputs[0] = a.data();
            sum.inputs[1] = sum.outputs[1] = b.data();
            EXPECT_EQ(plugin().sum(&sum, stream), 0);
            sum = {};  // the struct was only lent
        }
        EXPECT_EQ(a[0], 1);
        gate.open();
        EXPECT_EQ(driver().stream_synchronize(stream), kSuccess);
        EXPECT_EQ(a, expected);
        EXPECT_EQ(b, expected);
    });
}

TEST(Plugin, RefusesWhatItCannotSum) {
    apart({}, [] {
        const Gpu gpu;
        pace_device_sum sum{};
        sum.dtype = kU32;
        EXPECT_STREQ(plugin().error_text(plugin().sum(&sum, nullptr)), "invalid argument");
        sum.dtype = kF32;
        sum.input_count = PACE_DEVICE_MEMBERS_MAX + 1;
        EXPECT_NE(plugin().sum(&sum, nullptr), 0);
        sum.input_count = 0;
        EXPECT_EQ(plugin().sum(&sum, reinterpret_cast<void*>(4096)), 400);
    });
}

TEST(Plugin, SumsSegmentsInPlaceAndApart) {
    apart({}, [] {
        const Gpu gpu;
        std::vector<float> a{1, 2, 3};
        std::vector<float> b{10, 20, 30};
        std::vector<float> out(2);
        const std::array<uint64_t, 2> counts{2, 1};
        const std::array<const void*, 4> inputs{a.data(), b.data(), a.data() + 2, b.data() + 2};
        pace_device_sum_segments sum{};
        sum.dtype = kF32;
        EXPECT_NE(plugin().sum_segments(&sum, nullptr), 0);  // no inputs
        sum.input_count = 2;
        sum.segment_count = 2;
        sum.scale = 1.0;
        sum.weights[0] = sum.weights[1] = 1.0;
        sum.counts = counts.data();
        sum.inputs = inputs.data();
        EXPECT_EQ(plugin().sum_segments(&sum, nullptr), 0);
        const std::array<void*, 1> outputs{out.data()};
        sum.input_count = sum.output_count = sum.segment_count = 1;
        sum.outputs = outputs.data();
        EXPECT_EQ(plugin().sum_segments(&sum, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(a, (std::vector<float>{11, 22, 33}));
        EXPECT_EQ(b, a);
        EXPECT_EQ(out, (std::vector<float>{11, 22}));
    });
}

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& in, pace_device_dtype from,
                          pace_device_dtype to) {
    std::vector<To> out(in.size());
    const pace_device_convert convert{from, to, in.size(), in.data(), out.data()};
    EXPECT_EQ(plugin().convert(&convert, nullptr), 0);
    EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
    return out;
}

TEST(Plugin, ConvertsEveryHalfToDoubleAndBack) {
    apart({}, [] {
        const Gpu gpu;
        std::vector<uint16_t> all(65536);
        for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
        for (const auto type : {kF16, kBf16}) {
            const auto doubles = converted<double>(all, type, kF64);
            const auto back = converted<uint16_t>(doubles, kF64, type);
            for (size_t i = 0; i < all.size(); ++i) {
                if (std::isnan(doubles[i])) continue;
                EXPECT_EQ(back[i], all[i]);
            }
        }
    });
}

TEST(Plugin, RoundsADoubleOnce) {
    apart({}, [] {
        const Gpu gpu;
        // The first values are just above the middle between two halves, by less than a float can
        // represent. The other values are not representable as floats at all.
        const double middle = 1 + std::ldexp(1, -11);
        const std::vector<double> in{middle,
                                     middle + std::ldexp(1, -40),
                                     middle - std::ldexp(1, -40),
                                     -middle - std::ldexp(1, -40),
                                     1e300,
                                     -1e300,
                                     1e-300};
        const auto halves = converted<uint16_t>(in, kF64, kF16);
        EXPECT_EQ(halves,
                  (std::vector<uint16_t>{0x3C00, 0x3C01, 0x3C00, 0xBC01, 0x7C00, 0xFC00, 0x0000}));
        const auto floats = converted<float>(in, kF64, kF32);
        EXPECT_EQ(floats[1], static_cast<float>(middle));
        EXPECT_TRUE(std::isinf(floats[4]));
        const std::vector<double> nan{-std::numeric_limits<double>::quiet_NaN()};
        EXPECT_EQ(converted<uint16_t>(nan, kF64, kF16)[0], 0x7E00);
        EXPECT_EQ(converted<uint16_t>(nan, kF64, kBf16)[0], 0x7FC0);
    });
}

TEST(Plugin, ChoosesTheGreatestAndLeavesTheRest) {
    apart({}, [] {
        const Gpu gpu;
        std::vector<float> in{0, -5, 1, 5, 0, -2};
        std::vector<uint32_t> indices(6);
        std::vector<float> values(6);
        uint64_t count = 0;
        const size_t room = plugin().top_k_workspace(in.size(), 3);
        std::vector<char> workspace(room);
        pace_device_top_k top_k{in.size(),     3,      in.data(), indices.data(),
                                values.data(), &count, in.data(), workspace.data(),
                                room};
        EXPECT_EQ(plugin().top_k(&top_k, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(count, 3U);
        EXPECT_EQ(indices, (std::vector<uint32_t>{1, 3, 5, 0, 0, 0}));
        EXPECT_EQ(values, (std::vector<float>{-5, 5, -2, 0, 0, 0}));
        EXPECT_EQ(in, (std::vector<float>{0, 0, 1, 0, 0, 0}));
        top_k.k = 6;
        EXPECT_EQ(plugin().top_k(&top_k, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(count, 1U) << "a zero is never chosen";
        top_k.k = 7;
        EXPECT_NE(plugin().top_k(&top_k, nullptr), 0);
    });
}

TEST(Plugin, MergesLists) {
    apart({}, [] {
        const Gpu gpu;
        const std::vector<uint32_t> a_indices{1, 4};
        const std::vector<float> a_values{10, 40};
        const std::vector<uint32_t> b_indices{0, 4, 9};
        const std::vector<float> b_values{1, 2, 3};
        std::vector<uint32_t> indices(5);
        std::vector<float> values(5);
        uint64_t count = 0;
        const size_t room = plugin().merge_workspace(2, 3);
        std::vector<char> workspace(room);
        const pace_device_merge merge{2,
                                      3,
                                      a_indices.data(),
                                      a_values.data(),
                                      b_indices.data(),
                                      b_values.data(),
                                      indices.data(),
                                      values.data(),
                                      &count,
                                      workspace.data(),
                                      room};
        EXPECT_EQ(plugin().merge(&merge, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(count, 4U);
        EXPECT_EQ(indices, (std::vector<uint32_t>{0, 1, 4, 9, 0}));
        EXPECT_EQ(values, (std::vector<float>{1, 10, 42, 3, 0}));
    });
}

TEST(Plugin, AddsWhatLiesWithin) {
    apart({}, [] {
        const Gpu gpu;
        std::vector<float> out{1, 1, 1};
        const std::vector<uint32_t> indices{2, 0, 3};
        const std::vector<float> values{10, 20, 30};
        pace_device_scatter_add add{3, 3, indices.data(), values.data(), 0.5, out.data()};
        EXPECT_EQ(plugin().scatter_add(&add, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(out, (std::vector<float>{11, 1, 6}));
        add.indices = nullptr;
        EXPECT_EQ(plugin().scatter_add(&add, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(out, (std::vector<float>{16, 11, 21}));
    });
}

TEST(Plugin, ReadsAndWritesWhatLiesWithin) {
    apart({}, [] {
        const Gpu gpu;
        const std::vector<uint32_t> indices{0, 2, 3};
        const std::vector<float> in{1, 2, 3};
        std::vector<float> values(3, 7);
        const pace_device_gather gather{3, 3, indices.data(), in.data(), values.data()};
        EXPECT_EQ(plugin().gather(&gather, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(values, (std::vector<float>{1, 3, 0}));
        std::vector<uint64_t> out{5, 6, 7};
        const std::vector<uint64_t> wide{50, 70, 80};
        pace_device_scatter scatter{3, 3, 8, 0, indices.data(), wide.data(), out.data()};
        EXPECT_EQ(plugin().scatter(&scatter, nullptr), 0);
        EXPECT_EQ(driver().stream_synchronize(nullptr), kSuccess);
        EXPECT_EQ(out, (std::vector<uint64_t>{50, 6, 70}));
        scatter.element_bytes = 3;
        EXPECT_NE(plugin().scatter(&scatter, nullptr), 0);
    });
}

TEST(Plugin, TheBrokenOnesAreBrokenAsTheyShouldBe) {
    apart({}, [] {
        EXPECT_NE(table_in(kOtherVersion).version, PACE_DEVICE_PLUGIN_VERSION);
        EXPECT_EQ(table_in(kIncomplete).version, PACE_DEVICE_PLUGIN_VERSION);
        EXPECT_EQ(table_in(kIncomplete).sum, nullptr);
        const pace_device_plugin_table& refusing = table_in(kRefusing);
        EXPECT_NE(refusing.sum, nullptr);
        EXPECT_STREQ(refusing.error_text(refusing.check(0)), "this plug-in refuses every device");
        EXPECT_EQ(dlsym(open_library(kWithoutEntry), "pace_device_plugin"), nullptr);
    });
}

}  // namespace
}  // namespace pace::simulated_gpu
