// Sum tests: compare the sums of the device with kernels::weighted_sum, bit by bit.
#include <array>
#include <optional>
#include <string>

#include "daemon/kernels/cuda/tests/test_device.h"
#include "daemon/kernels/cuda/tests/test_elements.h"
#include "daemon/kernels/reduce.h"

namespace pace::kernels::cuda {
namespace {

using protocol::DType;

constexpr std::array kDTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr std::array kWeights = {0.25, 1.0, 1.0 / 3, -2.5};
constexpr std::array<size_t, 9> kCounts = {0, 1, 3, 7, 31, 33, 1000, 4097, 20011};

// One sum, on the device and on the processor.
struct Case {
    DType dtype = DType::f32;
    size_t inputs = 1;
    size_t count = 0;
    bool weighted = false;
    // The shifts of the buffers in turn, in elements. Outputs follow inputs.
    std::vector<size_t> shifts = {0};
    size_t outputs_apart = 1;
    bool in_place = false;  // the inputs are outputs as well
};

std::string text_of(const Case& test) {
    std::string text = std::string(name_of(test.dtype)) + " x " + std::to_string(test.count) +
                       ", " + std::to_string(test.inputs) + " inputs";
    if (test.weighted) text += ", weighted";
    if (test.in_place) text += ", in place";
    for (const size_t shift : test.shifts) text += " +" + std::to_string(shift);
    return text;
}

class DeviceSum : public OnDevice {
  protected:
    // Expects the same bits from both.
    void compare(const Case& test) {
        SCOPED_TRACE(text_of(test));
        const size_t size = size_of(test.dtype);
        std::vector<Bytes> elements;
        std::vector<Guarded<std::byte>> buffers;
        std::vector<Source> sources;
        pace_device_sum sum = {};
        sum.dtype = static_cast<pace_device_dtype>(test.dtype);
        sum.count = test.count;
        sum.scale = test.weighted ? 1.0 / 3 : 1.0;
        const auto shift = [&] { return test.shifts[buffers.size() % test.shifts.size()] * size; };
        for (size_t k = 0; k < test.inputs; ++k) {
            elements.push_back(any_elements(test.dtype, test.count, random_));
            buffers.emplace_back(std::span<const std::byte>(elements.back()), shift());
            const double weight = test.weighted ? kWeights[k % kWeights.size()] : 1.0;
            sources.push_back({elements.back().data(), weight});
            sum.inputs[sum.input_count] = buffers.back().data();
            sum.weights[sum.input_count++] = weight;
            if (test.in_place) sum.outputs[sum.output_count++] = buffers.back().data();
        }
        for (size_t j = 0; j < test.outputs_apart; ++j) {
            buffers.emplace_back(test.count * size, shift());
            sum.outputs[sum.output_count++] = buffers.back().data();
        }
        Bytes expected(test.count * size);
        weighted_sum(test.dtype, sources, sum.scale, expected.data(), test.count);
        finish(plugin()->sum(&sum, stream()));
        for (size_t i = 0; i < buffers.size(); ++i) {
            const bool is_output = i >= test.inputs || test.in_place;
            ASSERT_TRUE(is_same(buffers[i].elements(), is_output ? expected : elements[i])) << i;
            ASSERT_TRUE(buffers[i].is_intact()) << i;
        }
    }

    base::Random random_{1};
};

TEST_F(DeviceSum, EqualsThatOfTheProcessorForEveryTypeAndNumberOfInputs) {
    for (const DType dtype : kDTypes)
        for (const size_t inputs : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 32})
            for (const bool weighted : {false, true})
                compare({.dtype = dtype, .inputs = inputs, .count = 4099, .weighted = weighted});
}

TEST_F(DeviceSum, TouchesNothingElseWhateverTheCount) {
    for (const DType dtype : kDTypes)
        for (const size_t count : kCounts)
            for (const size_t inputs : {1, 3, 9})
                compare({.dtype = dtype, .inputs = inputs, .count = count, .weighted = true});
}

TEST_F(DeviceSum, BuffersMayLieAnywhere) {
    for (const DType dtype : kDTypes)
        for (const size_t count : {size_t{1}, size_t{5}, size_t{33}, size_t{4097}}) {
            for (size_t shift = 1; shift < 8; ++shift)  // all buffers have the same shift
                compare({.dtype = dtype, .inputs = 2, .count = count, .shifts = {shift}});
            compare({.dtype = dtype, .inputs = 3, .count = count, .shifts = {0, 1}});
            compare({.dtype = dtype, .inputs = 9, .count = count, .shifts = {1, 2, 3, 4, 5}});
        }
}

TEST_F(DeviceSum, GoesToItsInputsAndElsewhereInOnePass) {
    for (const DType dtype : kDTypes)
        for (const size_t inputs : {1, 2, 4, 8, 16})
            for (const size_t shift : {0, 1})
                compare({.dtype = dtype,
                         .inputs = inputs,
                         .count = 4097,
                         .weighted = true,
                         .shifts = {shift},
                         .outputs_apart = 2,
                         .in_place = true});
}

TEST_F(DeviceSum, OfManyElementsIsTheSame) {
    for (const DType dtype : kDTypes)
        compare({.dtype = dtype,
                 .inputs = 4,
                 .count = (size_t{1} << 20U) + 3,
                 .weighted = true,
                 .outputs_apart = 0,
                 .in_place = true});
}

TEST_F(DeviceSum, RoundsEveryHalfAsTheProcessorDoes) {
    // The test uses all patterns, weighted so that every result must be rounded. Ties are included.
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    const Guarded<uint16_t> in(all, 0);
    const Guarded<uint16_t> out(all.size(), 0);
    for (const DType dtype : {DType::f16, DType::bf16})
        for (const double weight : {1.0, 0.5, 0.75, 1.0 + 0x1p-11, 1.0 + 0x1p-8, 0x1p-9, 1e-3, 3.0,
                                    0x1p-14, 1.0 / 3, 65504.0}) {
            pace_device_sum sum = {};
            sum.dtype = static_cast<pace_device_dtype>(dtype);
            sum.input_count = sum.output_count = 1;
            sum.count = all.size();
            sum.scale = 1.0;
            sum.weights[0] = weight;
            sum.inputs[0] = in.data();
            sum.outputs[0] = out.data();
            finish(plugin()->sum(&sum, stream()));
            const Source source{reinterpret_cast<const std::byte*>(all.data()), weight};
            std::vector<uint16_t> expected(all.size());
            weighted_sum(dtype, std::span(&source, 1), 1.0,
                         reinterpret_cast<std::byte*>(expected.data()), all.size());
            ASSERT_TRUE(is_same(out.elements(), expected)) << name_of(dtype) << " " << weight;
        }
}

TEST_F(DeviceSum, WithoutInputsIsZero) {
    for (const DType dtype : kDTypes) {
        const Guarded<std::byte> out(77 * size_of(dtype), size_of(dtype));
        pace_device_sum sum = {};
        sum.dtype = static_cast<pace_device_dtype>(dtype);
        sum.output_count = 1;
        sum.count = 77;
        sum.scale = 1.0;
        sum.outputs[0] = out.data();
        finish(plugin()->sum(&sum, stream()));
        EXPECT_EQ(out.elements(), Bytes(77 * size_of(dtype)));
        EXPECT_TRUE(out.is_intact());
    }
}

TEST_F(DeviceSum, CountsBeyondThirtyTwoBits) {
    constexpr uint64_t kCount = (uint64_t{1} << 32U) + 5;
    const DeviceMemory memory(kCount * sizeof(uint16_t));
    if (memory.at() == nullptr) GTEST_SKIP() << "no room for " << memory.bytes() << " bytes";
    ASSERT_EQ(cudaMemset(memory.at(), 0x3F, memory.bytes()), cudaSuccess);  // bf16: 0.746
    for (const bool alone : {false, true}) {
        pace_device_sum sum = {};
        sum.dtype = static_cast<pace_device_dtype>(DType::bf16);
        sum.input_count = sum.output_count = 1;
        sum.count = kCount - (alone ? 1 : 0);
        sum.scale = 1.0;
        sum.weights[0] = 2.0;
        // Packs with different alignments to 16 bytes cannot be moved whole.
        sum.inputs[0] = memory.at<uint16_t>();
        sum.outputs[0] = memory.at<uint16_t>();
        if (alone) sum.inputs[0] = sum.outputs[0] = memory.at<uint16_t>(1);
        finish(plugin()->sum(&sum, stream()));
    }
    const uint16_t twice = base::bf16_from_float(2 * base::float_from_bf16(0x3F3F));
    const uint16_t four_times = base::bf16_from_float(4 * base::float_from_bf16(0x3F3F));
    for (const uint64_t first : {uint64_t{0}, (uint64_t{1} << 31U) - 3, kCount - 8}) {
        const std::vector<uint16_t> some = download(memory.at<uint16_t>(first), 8);
        ASSERT_EQ(some.size(), 8U);
        for (size_t i = 0; i < some.size(); ++i)
            ASSERT_EQ(some[i], first + i == 0 ? twice : four_times) << first + i;
    }
}

}  // namespace
}  // namespace pace::kernels::cuda
