// The kernels of sums, compiled for the host: they equal kernels::weighted_sum, bit by bit, and
// write nowhere else.
#include <array>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/kernels/cuda/sum.cu"
#include "daemon/kernels/cuda/sum_segments.cu"
#include "daemon/kernels/reduce.h"

namespace pace::kernels::cuda {
namespace {

using protocol::DType;
using Bytes = std::vector<std::byte>;

constexpr std::array kDTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr double kScale = 0.5;

// Elements between bytes that must not change.
class Guarded {
  public:
    Guarded(size_t bytes, size_t before, base::Random& random) : before_(before), bytes_(bytes) {
        memory_.resize(kBehind + before + bytes + kBehind);
        for (std::byte& byte : memory_) byte = static_cast<std::byte>(random.next());
        was_ = memory_;
    }

    std::byte* at() { return memory_.data() + begin(); }
    std::span<const std::byte> original() const { return std::span(was_).subspan(begin(), bytes_); }
    bool is(std::span<const std::byte> expected) const {
        return std::equal(expected.begin(), expected.end(),
                          memory_.begin() + static_cast<long>(begin()));
    }
    bool is_intact() const {
        const auto end = static_cast<long>(begin() + bytes_);
        return std::equal(memory_.begin(), memory_.begin() + static_cast<long>(begin()),
                          was_.begin()) &&
               std::equal(memory_.begin() + end, memory_.end(), was_.begin() + end);
    }

  private:
    static constexpr size_t kBehind = 32;
    // The first element is `before_` bytes behind an address that is aligned to a pack.
    size_t begin() const {
        const auto address = reinterpret_cast<uintptr_t>(memory_.data());
        return (kPackBytes - address % kPackBytes) % kPackBytes + before_;
    }

    size_t before_;
    size_t bytes_;
    Bytes memory_;
    Bytes was_;
};

struct Case {
    DType dtype = DType::f32;
    uint32_t inputs = 1;
    uint32_t outputs = 0;  // 0: in place
    std::vector<uint64_t> counts;
    size_t shift = 0;  // elements before each buffer of every second segment
};

class SumsOnHost : public testing::Test {
  protected:
    // Makes the buffers of all segments.
    void prepare(const Case& test) {
        SCOPED_TRACE(name_of(test.dtype));
        inputs_.clear();
        outputs_.clear();
        for (size_t k = 0; k < PACE_DEVICE_MEMBERS_MAX; ++k)
            weights_[k] = k % 2 == 0 ? 1.0 / 3 : 1.0;
        const size_t size = size_of(test.dtype);
        for (size_t s = 0; s < test.counts.size(); ++s) {
            const size_t before = s % 2 == 0 ? 0 : test.shift * size;
            for (uint32_t k = 0; k < test.inputs; ++k)
                inputs_.emplace_back(test.counts[s] * size, before, random_);
            for (uint32_t j = 0; j < test.outputs; ++j)
                outputs_.emplace_back(test.counts[s] * size, before, random_);
        }
    }

    int sum_all_segments(const Case& test) {
        std::vector<const void*> from;
        std::vector<void*> to;
        for (Guarded& buffer : inputs_) from.push_back(buffer.at());
        for (Guarded& buffer : outputs_) to.push_back(buffer.at());
        pace_device_sum_segments call = {};
        call.dtype = static_cast<pace_device_dtype>(test.dtype);
        call.input_count = test.inputs;
        call.output_count = test.outputs;
        call.segment_count = static_cast<uint32_t>(test.counts.size());
        call.scale = kScale;
        std::copy(weights_.begin(), weights_.end(), call.weights);
        call.counts = test.counts.data();
        call.inputs = from.data();
        call.outputs = to.data();
        launches = 0;
        return sum_segments(&call, nullptr);
    }

    int sum_each_alone(const Case& test) {
        for (size_t s = 0; s < test.counts.size(); ++s) {
            pace_device_sum call = {};
            call.dtype = static_cast<pace_device_dtype>(test.dtype);
            call.count = test.counts[s];
            call.scale = kScale;
            for (uint32_t k = 0; k < test.inputs; ++k) {
                call.weights[call.input_count] = weights_[k];
                call.inputs[call.input_count++] = inputs_[s * test.inputs + k].at();
                if (test.outputs == 0)
                    call.outputs[call.output_count++] = inputs_[s * test.inputs + k].at();
            }
            for (uint32_t j = 0; j < test.outputs; ++j)
                call.outputs[call.output_count++] = outputs_[s * test.outputs + j].at();
            if (const int failed = sum(&call, nullptr); failed != cudaSuccess) return failed;
        }
        return cudaSuccess;
    }

    void expect_sums(const Case& test) {
        const size_t each = test.outputs == 0 ? test.inputs : test.outputs;
        std::vector<Guarded>& results = test.outputs == 0 ? inputs_ : outputs_;
        for (size_t s = 0; s < test.counts.size(); ++s) {
            std::vector<Source> sources;
            for (uint32_t k = 0; k < test.inputs; ++k)
                sources.push_back({inputs_[s * test.inputs + k].original().data(), weights_[k]});
            Bytes expected(test.counts[s] * size_of(test.dtype));
            weighted_sum(test.dtype, sources, kScale, expected.data(), test.counts[s]);
            for (size_t j = 0; j < each; ++j) {
                ASSERT_TRUE(results[s * each + j].is(expected))
                    << name_of(test.dtype) << ", " << test.inputs << " inputs, segment " << s;
                ASSERT_TRUE(results[s * each + j].is_intact()) << "segment " << s;
            }
        }
    }

    void compare(const Case& test) {
        prepare(test);
        ASSERT_EQ(sum_all_segments(test), cudaSuccess);
        expect_sums(test);
        prepare(test);
        ASSERT_EQ(sum_each_alone(test), cudaSuccess);
        expect_sums(test);
    }

    base::Random random_{1};
    std::vector<Guarded> inputs_;
    std::vector<Guarded> outputs_;
    std::array<double, PACE_DEVICE_MEMBERS_MAX> weights_{};
};

TEST_F(SumsOnHost, EqualTheProcessors) {
    const std::vector<uint64_t> counts = {1, 0, 3, 7, 8, 2048, 2049, 33, 5000, 1};
    for (const DType dtype : kDTypes)
        for (const uint32_t inputs : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 32U})
            for (const uint32_t outputs : {0U, 1U, 2U})
                compare({.dtype = dtype, .inputs = inputs, .outputs = outputs, .counts = counts});
}

TEST_F(SumsOnHost, MayLieAnywhere) {
    for (const DType dtype : kDTypes)
        for (const size_t shift : {1, 2, 3, 5, 7})
            compare({.dtype = dtype,
                     .inputs = 3,
                     .counts = {9, 2049, 1, 5, 4100, 999},
                     .shift = shift});
}

TEST_F(SumsOnHost, ManyShortSegmentsNeedFewLaunches) {
    const std::vector<uint64_t> counts(256, 100);
    for (const auto& [inputs, most] : {std::pair(2U, 2), std::pair(8U, 6)}) {
        const Case test{.inputs = inputs, .counts = counts};
        prepare(test);
        ASSERT_EQ(sum_all_segments(test), cudaSuccess);
        EXPECT_EQ(launches, most) << inputs;
        expect_sums(test);
    }
}

TEST_F(SumsOnHost, ALongSegmentHasALaunchOfItsOwn) {
    const uint64_t long_one = (uint64_t{1} << 18U) + 5;
    const Case test{.inputs = 2, .counts = {10, long_one, 20, long_one, 30}, .shift = 1};
    prepare(test);
    ASSERT_EQ(sum_all_segments(test), cudaSuccess);
    EXPECT_EQ(launches, 3);
    expect_sums(test);
}

TEST_F(SumsOnHost, WhatCannotBeIsRefused) {
    pace_device_sum_segments sum = {};
    EXPECT_EQ(sum_segments(&sum, nullptr), cudaErrorInvalidValue);  // no inputs
    sum.input_count = PACE_DEVICE_MEMBERS_MAX + 1;
    EXPECT_EQ(sum_segments(&sum, nullptr), cudaErrorInvalidValue);
    sum.input_count = 1;
    sum.dtype = static_cast<pace_device_dtype>(DType::u32);
    EXPECT_EQ(sum_segments(&sum, nullptr), cudaErrorInvalidValue);
    sum.dtype = static_cast<pace_device_dtype>(DType::f32);
    EXPECT_EQ(sum_segments(&sum, nullptr), cudaSuccess);  // of no segments
    const uint64_t count = 1;
    const void* const nowhere = nullptr;
    sum.segment_count = 1;
    sum.counts = &count;
    sum.inputs = &nowhere;
    EXPECT_EQ(sum_segments(&sum, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace pace::kernels::cuda
