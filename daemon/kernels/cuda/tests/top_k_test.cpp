// Top-k tests: compare the selection of the device with sparse::top_k. The indices and the bits
// must be the same.
#include "daemon/sparse/residual/top_k.h"

#include <limits>
#include <optional>
#include <string>

#include "daemon/kernels/cuda/tests/test_device.h"

namespace pace::kernels::cuda {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Tells where the elements that were not chosen are written.
enum class Rest { nowhere, in_place, apart };

class DeviceTopK : public OnDevice {
  protected:
    void compare(const std::vector<float>& vector, size_t k, Rest rest, size_t shift,
                 size_t residual_shift = 0) {
        SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(vector.size()) + ", rest " +
                     std::to_string(static_cast<int>(rest)) + " +" + std::to_string(shift));
        const sparse::Entries expected = sparse::top_k(std::span(vector), k, pool_);
        const Guarded<float> in(std::span<const float>(vector), shift);
        const Guarded<float> residual(rest == Rest::apart ? vector.size() : 0, residual_shift);
        const Guarded<uint32_t> indices(k, 1);
        const Guarded<float> values(k, 1);
        const Guarded<uint64_t> out_count(1, 0);
        const Guarded<std::byte> workspace(plugin()->top_k_workspace(vector.size(), k), 0);
        pace_device_top_k top_k = {};
        top_k.count = vector.size();
        top_k.k = k;
        top_k.in = in.data();
        top_k.indices = indices.data();
        top_k.values = values.data();
        top_k.out_count = out_count.data();
        if (rest == Rest::in_place) top_k.residual = in.data();
        if (rest == Rest::apart) top_k.residual = residual.data();
        top_k.workspace = workspace.data();
        top_k.workspace_bytes = plugin()->top_k_workspace(vector.size(), k);
        finish(plugin()->top_k(&top_k, stream()));

        ASSERT_EQ(out_count.elements(), std::vector<uint64_t>{expected.size()});
        ASSERT_TRUE(is_same(indices.first(expected.size()), expected.indices));
        ASSERT_TRUE(is_same(values.first(expected.size()), expected.values));
        std::vector<float> left = vector;
        for (const uint32_t index : expected.indices) left[index] = 0.0F;
        ASSERT_TRUE(is_same(in.elements(), rest == Rest::in_place ? left : vector));
        ASSERT_TRUE(rest != Rest::apart || is_same(residual.elements(), left));
        ASSERT_TRUE(in.is_intact() && residual.is_intact() && indices.is_intact() &&
                    values.is_intact() && workspace.is_intact());
    }

    void compare_all(const std::vector<float>& vector, size_t k) {
        compare(vector, k, Rest::nowhere, 0);
        compare(vector, k, Rest::in_place, 1);
        compare(vector, k, Rest::apart, 0);
        compare(vector, k, Rest::apart, 0, 1);
    }

    base::Random random_{3};
    WorkerPool pool_{0};
};

TEST_F(DeviceTopK, EqualsThatOfTheProcessorForFewElements) {
    for (const size_t size : {0, 1, 3, 7, 31, 33, 1000, 2047, 2048, 2049, 4097, 20011})
        for (const uint64_t distinct : {2U, 5U, 1000000U}) {
            const uint64_t middle = distinct / 2;
            std::vector<float> vector(size);
            for (float& value : vector)
                value = static_cast<float>(random_.below(distinct)) - static_cast<float>(middle);
            for (const size_t k : {size_t{0}, size_t{1}, size / 100, size / 3, size})
                if (k <= size) compare_all(vector, k);
        }
}

TEST_F(DeviceTopK, OrdersNanAboveInfinityAndNeverTakesAZero) {
    const std::vector<float> vector = {0.0F,  1.0F,   kInf,  -kNan,
                                       -0.0F, 1e-45F, kNan,  -kInf,
                                       3e38F, 0.0F,   -1.0F, std::bit_cast<float>(0x7FFFFFFFU)};
    for (size_t k = 0; k <= vector.size(); ++k) compare_all(vector, k);
}

// The sample can be wrong for these vectors. They are large enough that a sample is taken.
TEST_F(DeviceTopK, EqualsThatOfTheProcessorHoweverTheElementsLie) {
    const size_t size = (size_t{1} << 20U) + 3;
    std::vector<float> vector(size);
    const auto compare_with = [&](const char* name, auto&& make) {
        SCOPED_TRACE(name);
        for (size_t i = 0; i < size; ++i) vector[i] = static_cast<float>(make(i));
        for (const size_t k : {size_t{1}, size / 100, size / 3}) {
            compare(vector, k, Rest::apart, 0);
            compare(vector, k, Rest::in_place, 1);
        }
    };
    const auto bell = [&] {
        return random_.uniform() + random_.uniform() + random_.uniform() - 1.5;
    };
    compare_with("bell", [&](size_t) { return bell(); });
    compare_with("uniform", [&](size_t) { return random_.uniform() - 0.5; });
    compare_with("few values", [&](size_t) { return static_cast<double>(random_.below(3)); });
    compare_with("all equal", [](size_t) { return 2.5; });
    compare_with("zeros", [](size_t i) { return i % 2 == 0 ? 0.0 : -0.0; });
    compare_with("one that is not zero", [](size_t i) { return i == 777777 ? -1.0 : 0.0; });
    compare_with("mostly zeros", [&](size_t i) { return i % 1009 == 5 ? bell() : 0.0; });
    compare_with("rising", [](size_t i) { return static_cast<double>(i); });
    compare_with("great ones together",
                 [&](size_t i) { return i > 1000 && i < 9000 ? 1000 + bell() : bell(); });
    compare_with("great ones at the end",
                 [&](size_t i) { return i + 8000 > size ? 1000 + bell() : bell(); });
    compare_with("NaN", [&](size_t i) { return i % 7 == 0 ? double{kNan} : bell(); });
    compare_with("subnormal", [&](size_t) { return bell() * 1e-39; });
}

// All great values lie where the sample looks (histogram.cuh). So the sample expects too great a
// magnitude.
TEST_F(DeviceTopK, EqualsThatOfTheProcessorWhereTheSampleMisleads) {
    constexpr uint64_t kLines = 65536;
    constexpr uint64_t kSampled = 16384;
    std::vector<float> vector(kLines * 32);
    for (float& value : vector) value = static_cast<float>(random_.uniform());
    for (uint64_t sample = 0; sample < kSampled; ++sample) {
        const uint64_t scattered = (sample + 1) * 0x9E3779B97F4A7C15U >> 32U;
        const uint64_t line = sample * 4 + (scattered * 4 >> 32U);
        for (size_t i = 0; i < 32; ++i) vector[line * 32 + i] += 1000.0F;
    }
    for (const size_t k : {size_t{1}, vector.size() / 3, vector.size() / 2})
        compare(vector, k, Rest::in_place, 0);
}

TEST_F(DeviceTopK, IndicesReachThirtyTwoBits) {
    constexpr uint64_t kCount = 0xFFFFFFFFU;
    constexpr size_t kK = 4;
    const DeviceMemory vector(kCount * sizeof(float));
    const DeviceMemory workspace(plugin()->top_k_workspace(kCount, kK));
    if (vector.at() == nullptr || workspace.at() == nullptr)
        GTEST_SKIP() << "no room for " << vector.bytes() + workspace.bytes() << " bytes";
    ASSERT_EQ(cudaMemset(vector.at(), 0, vector.bytes()), cudaSuccess);
    const std::vector<uint32_t> places = {7, 0x7FFFFFFFU, 0x80000001U, 0xFFFFFFFEU};
    const std::vector<float> great = {1.0F, -2.0F, 3.0F, kInf};
    for (size_t i = 0; i < kK; ++i)
        ASSERT_TRUE(upload(vector.at<float>(places[i]), std::span(&great[i], 1)));
    const Guarded<uint32_t> indices(kK, 0);
    const Guarded<float> values(kK, 0);
    const Guarded<uint64_t> out_count(1, 0);
    pace_device_top_k top_k = {};
    top_k.count = kCount;
    top_k.k = kK;
    top_k.in = vector.at<float>();
    top_k.indices = indices.data();
    top_k.values = values.data();
    top_k.out_count = out_count.data();
    top_k.workspace = workspace.at();
    top_k.workspace_bytes = workspace.bytes();
    finish(plugin()->top_k(&top_k, stream()));
    EXPECT_EQ(indices.elements(), places);
    EXPECT_EQ(values.elements(), great);
}

TEST_F(DeviceTopK, AnyBitsAreOrdered) {
    std::vector<float> vector(300007);
    for (float& value : vector) value = std::bit_cast<float>(static_cast<uint32_t>(random_.next()));
    for (const size_t k : {1U, 1000U, 3000U, 100000U, 300007U}) compare_all(vector, k);
}

}  // namespace
}  // namespace pace::kernels::cuda
