#include "daemon/kernels/reduce.h"

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "base/random.h"
#include "daemon/kernels/reference.h"

namespace pace::kernels {
namespace {

using protocol::DType;

constexpr std::array kDTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr std::array kWeights = {0.25, 1.0, 1.0 / 3, -2.5};
using Bytes = std::vector<std::byte>;

// Runs `test` once for each compiled instruction set that this machine has.
template <typename Test>
void on_every_target(Test&& test) {
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        test();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Returns random bits. All exponents, subnormals, infinities and NaNs are included. Half of the
// elements are of moderate size, so that not all sums overflow.
Bytes random_elements(DType dtype, size_t count, base::Random& random) {
    Bytes bytes(count * size_of(dtype));
    for (size_t i = 0; i < count; ++i) {
        const uint64_t bits = random.next();
        const double value = (random.uniform() - 0.5) * 8;
        const bool any = random.below(2) == 0;
        switch (dtype) {
            case DType::f32:
                write_element(bytes.data(), i,
                              any ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                                  : static_cast<float>(value));
                break;
            case DType::f64:
                write_element(bytes.data(), i, any ? std::bit_cast<double>(bits) : value);
                break;
            case DType::f16:
                write_element(bytes.data(), i,
                              any ? static_cast<uint16_t>(bits)
                                  : base::f16_from_float(static_cast<float>(value)));
                break;
            case DType::bf16:
                write_element(bytes.data(), i,
                              any ? static_cast<uint16_t>(bits)
                                  : base::bf16_from_float(static_cast<float>(value)));
                break;
            case DType::u32:  // indices are never summed
                break;
        }
    }
    return bytes;
}

// Sources of random elements, each in its own memory with one extra byte.
struct Inputs {
    Inputs(DType dtype, size_t source_count, size_t count, bool weighted, base::Random& random) {
        for (size_t k = 0; k < source_count; ++k) {
            memory.push_back(random_elements(dtype, count, random));
            sources.push_back({memory.back().data(), weighted ? kWeights[k % 4] : 1.0});
        }
    }
    std::vector<Bytes> memory;
    std::vector<Source> sources;
};

Bytes reference(DType dtype, const std::vector<Source>& sources, double scale, size_t count) {
    Bytes out(count * size_of(dtype));
    reference_sum(dtype, sources, scale, out.data(), count);
    return out;
}

TEST(Reduce, EqualsTheReferenceForEveryTypeAndNumberOfSources) {
    on_every_target([] {
        base::Random random(1);
        constexpr size_t kCount = 301;
        for (const DType dtype : kDTypes)
            for (size_t k = 1; k <= 17; ++k)
                for (const bool weighted : {false, true}) {
                    const Inputs inputs(dtype, k, kCount, weighted, random);
                    const double scale = weighted ? 1.0 / static_cast<double>(k) : 1.0;
                    Bytes out(kCount * size_of(dtype));
                    weighted_sum(dtype, inputs.sources, scale, out.data(), kCount);
                    ASSERT_EQ(out, reference(dtype, inputs.sources, scale, kCount))
                        << name_of(dtype) << " of " << k << (weighted ? " weighted" : "");
                }
    });
}

TEST(Reduce, TouchesNothingElseWhateverTheAlignmentAndCount) {
    on_every_target([] {
        base::Random random(2);
        for (const DType dtype : kDTypes)
            for (size_t count = 0; count <= 200; ++count) {
                const size_t shift = random.below(17);
                const Inputs inputs(dtype, 3, count, true, random);
                std::vector<Bytes> shifted;
                std::vector<Source> sources;
                for (const Source& source : inputs.sources) {
                    shifted.emplace_back(shift + count * size_of(dtype));
                    if (count > 0)
                        std::memcpy(shifted.back().data() + shift, source.data,
                                    count * size_of(dtype));
                    sources.push_back({shifted.back().data() + shift, source.weight});
                }
                const Bytes expected = reference(dtype, inputs.sources, 0.5, count);
                Bytes out(count * size_of(dtype) + shift + 1, std::byte{0x5A});
                weighted_sum(dtype, sources, 0.5, out.data() + shift, count);
                const Bytes written(out.begin() + static_cast<long>(shift), out.end() - 1);
                ASSERT_EQ(written, expected) << name_of(dtype) << " x " << count;
                ASSERT_EQ(out.back(), std::byte{0x5A});
                for (size_t i = 0; i < shift; ++i) ASSERT_EQ(out[i], std::byte{0x5A});
            }
    });
}

TEST(Reduce, CuttingARangeChangesNoBit) {
    base::Random random(3);
    constexpr size_t kCount = 1000;
    for (const DType dtype : kDTypes) {
        const Inputs inputs(dtype, 5, kCount, true, random);
        const Bytes expected = reference(dtype, inputs.sources, 0.2, kCount);
        for (int round = 0; round < 50; ++round) {
            Bytes out(kCount * size_of(dtype));
            for (size_t first = 0; first < kCount;) {
                const size_t count = std::min(kCount - first, 1 + random.below(200));
                weighted_sum(dtype, inputs.sources, 0.2, out.data() + first * size_of(dtype), count,
                             first);
                first += count;
            }
            ASSERT_EQ(out, expected) << name_of(dtype);
        }
    }
}

TEST(Reduce, WritesTheSumOverItsSourcesAndElsewhere) {
    on_every_target([] {
        base::Random random(4);
        for (const DType dtype : kDTypes)
            for (const size_t count : {size_t{77}, size_t{4096}}) {
                Inputs inputs(dtype, 4, count, true, random);
                const Bytes expected = reference(dtype, inputs.sources, 3.0, count);
                Bytes other(count * size_of(dtype));
                std::vector<std::byte*> outs = {other.data()};
                for (Bytes& memory : inputs.memory) outs.push_back(memory.data());
                weighted_sum_into_all(dtype, inputs.sources, 3.0, outs, count / 2);
                weighted_sum_into_all(dtype, inputs.sources, 3.0, outs, count - count / 2,
                                      count / 2);
                ASSERT_EQ(other, expected) << name_of(dtype);
                for (const Bytes& memory : inputs.memory) ASSERT_EQ(memory, expected);
            }
    });
}

TEST(Reduce, StreamingStoresWriteTheSame) {
    base::Random random(5);
    constexpr size_t kCount = size_t{3} << 20U;  // large enough to stream, in every type
    for (const DType dtype : kDTypes) {
        const Inputs inputs(dtype, 2, kCount, true, random);
        std::vector<std::byte> memory(kCount * size_of(dtype) + 64);
        void* start = memory.data();
        size_t space = memory.size();
        auto* out = static_cast<std::byte*>(std::align(64, kCount * size_of(dtype), start, space));
        const std::array<std::byte*, 1> outs = {out};
        weighted_sum_into_all(dtype, inputs.sources, 0.5, outs, kCount);
        const Bytes expected = reference(dtype, inputs.sources, 0.5, kCount);
        ASSERT_EQ(std::memcmp(out, expected.data(), expected.size()), 0) << name_of(dtype);
    }
}

TEST(Reduce, RoundsEveryHalfAsTheScalarCodeDoes) {
    on_every_target([] {
        // The test uses all bit patterns, unweighted, and weighted so that every result must be
        // rounded. Ties are included.
        std::vector<uint16_t> all(65536);
        for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
        for (const DType dtype : {DType::f16, DType::bf16})
            for (const double weight : {1.0, 0.5, 0.75, 1.0 + 0x1p-11, 1.0 + 0x1p-8, 0x1p-9, 1e-3,
                                        3.0, 0x1p-14, 1.0 / 3}) {
                const auto* data = reinterpret_cast<const std::byte*>(all.data());
                const std::vector<Source> sources = {{data, weight}};
                Bytes out(all.size() * 2);
                weighted_sum(dtype, sources, 1.0, out.data(), all.size());
                ASSERT_EQ(out, reference(dtype, sources, 1.0, all.size()))
                    << name_of(dtype) << " times " << weight;
            }
    });
}

TEST(Reduce, WithoutSourcesTheSumIsZero) {
    std::array<float, 5> values = {1, 2, 3, 4, 5};
    auto* bytes = reinterpret_cast<std::byte*>(values.data());
    weighted_sum(DType::f32, {}, 1.0, bytes, 4);
    EXPECT_EQ(values, (std::array<float, 5>{0, 0, 0, 0, 5}));
}

TEST(Reduce, HalfTypesAccumulateInFloat) {
    // In f16, 2048 + 1 cannot be represented, but 2048 + 1 + 1 can.
    const std::array<uint16_t, 1> big = {base::f16_from_float(2048)};
    const std::array<uint16_t, 1> one = {base::f16_from_float(1)};
    const auto* b = reinterpret_cast<const std::byte*>(big.data());
    const auto* o = reinterpret_cast<const std::byte*>(one.data());
    const std::array<Source, 3> sources = {Source{b, 1}, Source{o, 1}, Source{o, 1}};
    uint16_t out = 0;
    weighted_sum(DType::f16, sources, 1.0, reinterpret_cast<std::byte*>(&out), 1);
    EXPECT_EQ(base::float_from_f16(out), 2050.0F);
}

// The test runs for every type. The accumulator cannot hold the sum of three of these numbers.
TEST(Reduce, AMeanOfTheGreatestNumbersIsFinite) {
    on_every_target([] {
        for (const size_t sources : {2U, 3U, 5U, 8U, 17U}) {
            const double mean = 1.0 / static_cast<double>(sources);
            const auto expect = [&]<typename Element>(DType dtype, Element greatest) {
                const std::vector<Element> values(9, greatest);
                const auto* data = std::as_bytes(std::span(values)).data();
                const std::vector<Source> addends(sources, Source{data, 1.0});
                Bytes out(values.size() * sizeof(Element));
                weighted_sum(dtype, addends, mean, out.data(), values.size());
                for (size_t i = 0; i < values.size(); ++i) {
                    const auto got = read_element<Element>(out.data(), i);
                    // Half types are compared as bits, floats up to the last few bits.
                    if constexpr (std::is_floating_point_v<Element>)
                        EXPECT_NEAR(got / greatest, 1, 1e-6) << name_of(dtype) << " of " << sources;
                    else
                        EXPECT_EQ(got, greatest) << name_of(dtype) << " of " << sources;
                }
            };
            expect(DType::f16, uint16_t{0x7BFF});
            expect(DType::bf16, uint16_t{0x7F7F});
            expect(DType::f32, 3.0e38F);
            expect(DType::f64, 1.5e308);
        }
    });
}

TEST(Reduce, TheRoomOfAMeanChangesNoBitOfNormalNumbers) {
    base::Random random(7);
    for (size_t count = 2; count <= 17; ++count) {
        std::vector<float> values(count);
        for (float& value : values) value = static_cast<float>((random.uniform() - 0.5) * 8);
        std::vector<Source> sources;
        for (const float& value : values)
            sources.push_back({reinterpret_cast<const std::byte*>(&value), 1.0});
        float sum = values[0];
        for (size_t k = 1; k < count; ++k) sum += values[k];
        float out = 0;
        weighted_sum(DType::f32, sources, 1.0 / static_cast<double>(count),
                     reinterpret_cast<std::byte*>(&out), 1);
        EXPECT_EQ(out, sum * static_cast<float>(1.0 / static_cast<double>(count))) << count;
    }
}

TEST(Reduce, CopiesToAll) {
    base::Random random(6);
    const Bytes source = random_elements(DType::f64, 5000, random);
    std::vector<Bytes> copies(3, Bytes(source.size() + 7));
    std::vector<std::byte*> outs;
    outs.reserve(copies.size());
    for (Bytes& copy : copies) outs.push_back(copy.data());
    copy_into_all(source.data(), outs, source.size(), 7);
    for (const Bytes& copy : copies)
        EXPECT_EQ(std::memcmp(copy.data() + 7, source.data(), source.size()), 0);
}

}  // namespace
}  // namespace pace::kernels
