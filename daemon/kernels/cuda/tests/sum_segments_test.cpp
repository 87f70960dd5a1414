// Tests of sums of many segments: each is what one call of `sum` makes of it, bit by bit.
#include <array>
#include <optional>

#include "daemon/kernels/cuda/tests/test_device.h"
#include "daemon/kernels/cuda/tests/test_elements.h"
#include "daemon/kernels/reduce.h"

namespace pace::kernels::cuda {
namespace {

using protocol::DType;

class DeviceSumSegments : public OnDevice {
  protected:
    struct Case {
        DType dtype = DType::f32;
        size_t inputs = 2;
        size_t outputs = 0;  // 0: in place
        std::vector<size_t> counts;
        size_t shift = 0;  // elements before each buffer of every second segment
    };

    void compare(const Case& test) {
        SCOPED_TRACE(std::string(name_of(test.dtype)) + ", " + std::to_string(test.inputs) +
                     " inputs, " + std::to_string(test.outputs) + " outputs");
        const size_t size = size_of(test.dtype);
        std::vector<Guarded<std::byte>> inputs;
        std::vector<Guarded<std::byte>> outputs;
        std::vector<Bytes> expected;
        pace_device_sum_segments sum = {};
        for (size_t k = 0; k < test.inputs; ++k) sum.weights[k] = k % 2 == 0 ? 1.0 / 3 : 1.0;
        for (size_t s = 0; s < test.counts.size(); ++s) {
            const size_t shift = s % 2 == 0 ? 0 : test.shift * size;
            expected.push_back(add_segment(test, s, shift, sum.weights, inputs));
            for (size_t j = 0; j < test.outputs; ++j)
                outputs.emplace_back(test.counts[s] * size, shift);
        }
        queue(test, sum, inputs, outputs);
        const auto& results = test.outputs == 0 ? inputs : outputs;
        const size_t each = test.outputs == 0 ? test.inputs : test.outputs;
        for (size_t i = 0; i < results.size(); ++i) {
            ASSERT_TRUE(is_same(results[i].elements(), expected[i / each]))
                << "segment " << i / each;
            ASSERT_TRUE(results[i].is_intact()) << "segment " << i / each;
        }
    }

  private:
    static constexpr double kScale = 0.5;

    // Returns the sum.
    Bytes add_segment(const Case& test, size_t segment, size_t shift, const double* weights,
                      std::vector<Guarded<std::byte>>& inputs) {
        const size_t count = test.counts[segment];
        std::vector<Bytes> elements;
        std::vector<Source> sources;
        for (size_t k = 0; k < test.inputs; ++k) {
            elements.push_back(any_elements(test.dtype, count, random_));
            inputs.emplace_back(std::span<const std::byte>(elements.back()), shift);
        }
        for (size_t k = 0; k < test.inputs; ++k)
            sources.push_back({elements[k].data(), weights[k]});
        Bytes sum(count * size_of(test.dtype));
        weighted_sum(test.dtype, sources, kScale, sum.data(), count);
        return sum;
    }

    void queue(const Case& test, pace_device_sum_segments& sum,
               const std::vector<Guarded<std::byte>>& inputs,
               const std::vector<Guarded<std::byte>>& outputs) {
        const std::vector<uint64_t> counts(test.counts.begin(), test.counts.end());
        std::vector<const void*> from;
        std::vector<void*> to;
        for (const auto& buffer : inputs) from.push_back(buffer.data());
        for (const auto& buffer : outputs) to.push_back(buffer.data());
        sum.dtype = static_cast<pace_device_dtype>(test.dtype);
        sum.input_count = static_cast<uint32_t>(test.inputs);
        sum.output_count = static_cast<uint32_t>(test.outputs);
        sum.segment_count = static_cast<uint32_t>(counts.size());
        sum.scale = kScale;
        sum.counts = counts.data();
        sum.inputs = from.data();
        sum.outputs = to.data();
        finish(plugin()->sum_segments(&sum, stream()));
    }

    base::Random random_{1};
};

constexpr std::array kDTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};

TEST_F(DeviceSumSegments, EqualThoseOfTheProcessor) {
    const std::vector<size_t> counts = {1, 0, 3, 7, 8, 2048, 2049, 16384, 33, 5000, 1};
    for (const DType dtype : kDTypes)
        for (const size_t inputs : {1, 2, 3, 9, 32})
            for (const size_t outputs : {0, 1, 2})
                compare({.dtype = dtype, .inputs = inputs, .outputs = outputs, .counts = counts});
}

TEST_F(DeviceSumSegments, MayLieAnywhere) {
    const std::vector<size_t> counts = {2048, 2049, 1, 5, 4100, 999};
    for (const DType dtype : kDTypes)
        for (const size_t shift : {1, 3, 7})
            compare({.dtype = dtype, .inputs = 3, .counts = counts, .shift = shift});
}

TEST_F(DeviceSumSegments, FillSeveralLaunches) {
    std::vector<size_t> counts;
    for (size_t s = 0; s < 700; ++s) counts.push_back(s * 7 % 1000);
    for (const size_t inputs : {2, 8}) compare({.inputs = inputs, .counts = counts});
}

TEST_F(DeviceSumSegments, LongAndShortTogether) {
    const size_t long_one = (size_t{1} << 20U) + 5;
    for (const DType dtype : kDTypes)
        compare({.dtype = dtype, .inputs = 2, .counts = {10, long_one, 20, long_one, 30}});
}

TEST_F(DeviceSumSegments, RefuseWhatCannotBe) {
    pace_device_sum_segments sum = {};
    EXPECT_NE(plugin()->sum_segments(&sum, stream()), 0);  // no inputs
    sum.input_count = PACE_DEVICE_MEMBERS_MAX + 1;
    EXPECT_NE(plugin()->sum_segments(&sum, stream()), 0);
    sum.input_count = 1;
    sum.dtype = static_cast<pace_device_dtype>(DType::u32);
    EXPECT_NE(plugin()->sum_segments(&sum, stream()), 0);
    sum.dtype = static_cast<pace_device_dtype>(DType::f32);
    finish(plugin()->sum_segments(&sum, stream()));  // of no segments
}

}  // namespace
}  // namespace pace::kernels::cuda
