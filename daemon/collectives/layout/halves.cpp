#include "daemon/collectives/layout/halves.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace pace::collectives {

using protocol::DType;

namespace {

// A guess. A run in both types is small beside the first-level cache.
constexpr size_t kRun = 256;

// The compiler vectorizes these two loops, since they have no branches. The loops take half.h's
// steps, but every lane computes both branches.
void narrow_f16_run(const float* in, uint16_t* out, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<uint32_t>(in[i]);
        const uint32_t magnitude = bits & 0x7FFFFFFFU;
        const uint32_t normal =
            (magnitude + base::kHalfRoundingBias + ((magnitude >> 13U) & 1U)) >> 13U;
        const float shifted =
            std::bit_cast<float>(magnitude) + std::bit_cast<float>(base::kHalfDenormalMagic);
        const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - base::kHalfDenormalMagic;
        const uint32_t finite = magnitude < base::kHalfNormalMin ? subnormal : normal;
        const uint32_t large = magnitude < base::kHalfOverflow ? finite : 0x7C00U;
        const uint32_t sign = (bits & 0x80000000U) >> 16U;
        const uint32_t number = large | sign;
        out[i] =
            static_cast<uint16_t>(magnitude > base::kFloatInfinity ? uint32_t{0x7E00U} : number);
    }
}

void widen_f16_run(const uint16_t* in, float* out, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const uint32_t bits = in[i];
        const uint32_t sign = (bits & 0x8000U) << 16U;
        const uint32_t magnitude = (bits & 0x7FFFU) << 13U;
        const uint32_t normal = magnitude + (112U << 23U);
        const float shifted =
            std::bit_cast<float>(normal + (1U << 23U)) - std::bit_cast<float>(base::kHalfNormalMin);
        const auto subnormal = std::bit_cast<uint32_t>(shifted);
        const uint32_t finite = magnitude < (0x0400U << 13U) ? subnormal : normal;
        const uint32_t special = normal + (112U << 23U);
        const uint32_t number = magnitude < (0x7C00U << 13U) ? finite : special;
        out[i] = std::bit_cast<float>(number | sign);
    }
}

void narrow_bf16_run(const float* in, uint16_t* out, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<uint32_t>(in[i]);
        const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
        const bool is_nan = (bits & 0x7FFFFFFFU) > base::kFloatInfinity;
        out[i] = static_cast<uint16_t>(is_nan ? base::kQuietNan >> 16U : rounded);
    }
}

void widen_bf16_run(const uint16_t* in, float* out, size_t count) {
    for (size_t i = 0; i < count; ++i)
        out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16U);
}

}  // namespace

void narrow(DType half, std::span<const float> in, std::byte* out) {
    std::array<uint16_t, kRun> run;
    for (size_t i = 0; i < in.size(); i += kRun) {
        const size_t count = std::min(kRun, in.size() - i);
        if (half == DType::f16)
            narrow_f16_run(in.data() + i, run.data(), count);
        else
            narrow_bf16_run(in.data() + i, run.data(), count);
        std::memcpy(out + i * sizeof(uint16_t), run.data(), count * sizeof(uint16_t));
    }
}

void widen(DType half, const std::byte* in, std::span<float> out) {
    std::array<uint16_t, kRun> run;
    for (size_t i = 0; i < out.size(); i += kRun) {
        const size_t count = std::min(kRun, out.size() - i);
        std::memcpy(run.data(), in + i * sizeof(uint16_t), count * sizeof(uint16_t));
        if (half == DType::f16)
            widen_f16_run(run.data(), out.data() + i, count);
        else
            widen_bf16_run(run.data(), out.data() + i, count);
    }
}

}  // namespace pace::collectives
