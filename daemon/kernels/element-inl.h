// element: turns a vector of elements into a vector of accumulators and back, for each of the four
// types. The file is included once per instruction set (Highway's idiom), only by the kernels.

#if defined(PACE_KERNELS_ELEMENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PACE_KERNELS_ELEMENT_INL_H
#undef PACE_KERNELS_ELEMENT_INL_H
#else
#define PACE_KERNELS_ELEMENT_INL_H
#endif

#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

#include "base/half.h"

HWY_BEFORE_NAMESPACE();
namespace pace::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Highway's scalar target reads through the pointer, which is undefined for unaligned memory.
template <class D>
HWY_INLINE hn::Vec<D> load_unaligned(D d, const hn::TFromD<D>* from) {
#if HWY_TARGET == HWY_SCALAR
    hn::TFromD<D> lane;
    std::memcpy(&lane, from, sizeof(lane));
    return hn::Set(d, lane);
#else
    return hn::LoadU(d, from);
#endif
}

template <class D>
HWY_INLINE void store_unaligned(hn::Vec<D> value, D d, hn::TFromD<D>* to) {
#if HWY_TARGET == HWY_SCALAR
    const hn::TFromD<D> lane = hn::GetLane(value);
    std::memcpy(to, &lane, sizeof(lane));
    (void)d;
#else
    hn::StoreU(value, d, to);
#endif
}

// Each type moves a pair of accumulator vectors, lo and hi, from and to 2 · Lanes(Tag) consecutive
// elements. Each type may choose which element is in which lane, since sums are made lane by lane.
// Rounding (pack) is separate from storing, because a sum is rounded once and stored many times.

template <class Lane>
struct Plain {
    using Element = Lane;
    using Tag = hn::ScalableTag<Lane>;
    using V = hn::Vec<Tag>;
    static HWY_INLINE void load(const Element* from, V& lo, V& hi) {
        lo = load_unaligned(Tag(), from);
        hi = load_unaligned(Tag(), from + hn::Lanes(Tag()));
    }
    using Packed = V;
    static HWY_INLINE void pack(V lo, V hi, Packed& first, Packed& second) {
        first = lo;
        second = hi;
    }
    static HWY_INLINE void store(Packed first, Packed second, Element* to) {
        store_unaligned(first, Tag(), to);
        store_unaligned(second, Tag(), to + hn::Lanes(Tag()));
    }
    static HWY_INLINE void stream(Packed first, Packed second, Element* to) {
        hn::Stream(first, Tag(), to);
        hn::Stream(second, Tag(), to + hn::Lanes(Tag()));
    }
};

using F32 = Plain<float>;
using F64 = Plain<double>;

// 32 bits per lane.
using WordTag = hn::RebindToUnsigned<hn::ScalableTag<float>>;
// As many lanes as a vector of floats, of 16 bits each.
using HalfTag = hn::Rebind<uint16_t, hn::ScalableTag<float>>;

// Two elements share a 32-bit word. One element is the word's upper half. The other is shifted
// there, so nothing crosses lanes. Highway 1.0.3 truncates when it demotes to bf16, and the
// processors' own instruction flushes subnormals.
struct Bf16 {
    using Element = uint16_t;
    using Tag = hn::ScalableTag<float>;
    using V = hn::Vec<Tag>;

    static HWY_INLINE void load(const Element* from, V& lo, V& hi) {
        const WordTag word;
        const auto both = load_unaligned(word, reinterpret_cast<const uint32_t*>(from));
        lo = hn::BitCast(Tag(), hn::ShiftLeft<16>(both));
        hi = hn::BitCast(Tag(), hn::And(both, hn::Set(word, 0xFFFF0000U)));
    }

    // The rounded element is in the upper half of each word.
    static HWY_INLINE hn::Vec<WordTag> round(V value) {
        const WordTag word;
        const auto bits = hn::BitCast(word, value);
        const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(word, 1));
        return hn::Add(hn::Add(bits, hn::Set(word, 0x7FFF)), odd);
    }

    // Both elements of each word form one vector; the second vector is unused.
    using Packed = hn::Vec<WordTag>;
    static HWY_INLINE void pack(V lo, V hi, Packed& first, Packed& second) {
        const auto upper = hn::And(round(hi), hn::Set(WordTag(), 0xFFFF0000U));
        first = hn::Or(hn::ShiftRight<16>(round(lo)), upper);
        second = first;
    }
    static HWY_INLINE void store(Packed first, Packed /*second*/, Element* to) {
        store_unaligned(first, WordTag(), reinterpret_cast<uint32_t*>(to));
    }
    static HWY_INLINE void stream(Packed first, Packed /*second*/, Element* to) {
        hn::Stream(first, WordTag(), reinterpret_cast<uint32_t*>(to));
    }
};

#if (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2) || HWY_TARGET == HWY_SCALAR || \
    HWY_TARGET == HWY_EMU128 || defined(HWY_DISABLE_F16C)

// Serves targets without conversion instructions. It takes half.h's steps, but every lane computes
// all branches.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> promote_f16(hn::Vec<HalfTag> halves) {
    const WordTag word;
    const hn::ScalableTag<float> single;
    const auto bits = hn::PromoteTo(word, halves);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(word, 0x8000)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(word, 0x7FFF)));
    const auto normal = hn::Add(magnitude, hn::Set(word, 112U << 23U));
    const auto special = hn::Add(normal, hn::Set(word, 112U << 23U));
    const auto shifted = hn::BitCast(single, hn::Add(normal, hn::Set(word, 1U << 23U)));
    const auto magic = hn::BitCast(single, hn::Set(word, base::kHalfNormalMin));
    const auto subnormal = hn::BitCast(word, hn::Sub(shifted, magic));
    const auto finite =
        hn::IfThenElse(hn::Lt(magnitude, hn::Set(word, 0x0400U << 13U)), subnormal, normal);
    const auto result =
        hn::IfThenElse(hn::Lt(magnitude, hn::Set(word, 0x7C00U << 13U)), finite, special);
    return hn::BitCast(single, hn::Or(result, sign));
}

HWY_INLINE hn::Vec<HalfTag> demote_f16(hn::Vec<hn::ScalableTag<float>> value) {
    const WordTag word;
    const hn::ScalableTag<float> single;
    const auto bits = hn::BitCast(word, value);
    const auto sign = hn::ShiftRight<16>(hn::And(bits, hn::Set(word, 0x80000000U)));
    const auto magnitude = hn::And(bits, hn::Set(word, 0x7FFFFFFFU));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(word, 1));
    const auto biased = hn::Add(magnitude, hn::Set(word, base::kHalfRoundingBias));
    const auto normal = hn::ShiftRight<13>(hn::Add(biased, odd));
    const auto magic = hn::Set(word, base::kHalfDenormalMagic);
    const auto shifted = hn::Add(hn::BitCast(single, magnitude), hn::BitCast(single, magic));
    const auto subnormal = hn::Sub(hn::BitCast(word, shifted), magic);
    const auto finite =
        hn::IfThenElse(hn::Lt(magnitude, hn::Set(word, base::kHalfNormalMin)), subnormal, normal);
    // Any NaN at this point is already the canonical one.
    const auto is_nan = hn::Gt(magnitude, hn::Set(word, base::kFloatInfinity));
    const auto special = hn::IfThenElse(is_nan, hn::Set(word, 0x7E00), hn::Set(word, 0x7C00));
    const auto result =
        hn::IfThenElse(hn::Lt(magnitude, hn::Set(word, base::kHalfOverflow)), finite, special);
    return hn::TruncateTo(HalfTag(), hn::Or(result, sign));
}

#else

HWY_INLINE hn::Vec<hn::ScalableTag<float>> promote_f16(hn::Vec<HalfTag> halves) {
    const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> half;
    return hn::PromoteTo(hn::ScalableTag<float>(), hn::BitCast(half, halves));
}

HWY_INLINE hn::Vec<HalfTag> demote_f16(hn::Vec<hn::ScalableTag<float>> value) {
    const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> half;
    return hn::BitCast(HalfTag(), hn::DemoteTo(half, value));
}

#endif

struct F16 {
    using Element = uint16_t;
    using Tag = hn::ScalableTag<float>;
    using V = hn::Vec<Tag>;
    static HWY_INLINE void load(const Element* from, V& lo, V& hi) {
        lo = promote_f16(load_unaligned(HalfTag(), from));
        hi = promote_f16(load_unaligned(HalfTag(), from + hn::Lanes(Tag())));
    }
    using Packed = hn::Vec<HalfTag>;
    static HWY_INLINE void pack(V lo, V hi, Packed& first, Packed& second) {
        first = demote_f16(lo);
        second = demote_f16(hi);
    }
    static HWY_INLINE void store(Packed first, Packed second, Element* to) {
        store_unaligned(first, HalfTag(), to);
        store_unaligned(second, HalfTag(), to + hn::Lanes(Tag()));
    }
    static HWY_INLINE void stream(Packed first, Packed second, Element* to) {
        hn::Stream(first, HalfTag(), to);
        hn::Stream(second, HalfTag(), to + hn::Lanes(Tag()));
    }
};

// Turns every NaN into the canonical one.
template <class D>
HWY_INLINE hn::Vec<D> canonical_nan(D d, hn::Vec<D> value) {
    using Lane = hn::TFromD<D>;
    const hn::RebindToUnsigned<D> bits;
    constexpr auto kNan =
        sizeof(Lane) == 8 ? uint64_t{0x7FF8000000000000U} : uint64_t{base::kQuietNan};
    const auto nan = hn::BitCast(d, hn::Set(bits, static_cast<hn::TFromD<decltype(bits)>>(kNan)));
    return hn::IfThenElse(hn::Eq(value, value), value, nan);
}

}  // namespace HWY_NAMESPACE
}  // namespace pace::kernels
HWY_AFTER_NAMESPACE();

#endif
