#include "daemon/kernels/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

// Everything from here to HWY_ONCE is compiled once per instruction set, because this file includes
// itself.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/kernels/reduce.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "daemon/kernels/element-inl.h"
#include "daemon/kernels/headroom.h"

#ifndef PACE_KERNELS_REDUCE_SUM
#define PACE_KERNELS_REDUCE_SUM
namespace pace::kernels {

// Parameters of one weighted sum.
struct Sum {
    std::span<const Source> sources;
    // The factor of the weights.
    double headroom;
    double scale;  // already divided by headroom
    std::span<std::byte* const> outs;
    // The element of the sources where the sum starts.
    size_t in_first;
    // The element of the outs where the sum starts.
    size_t out_first;
    size_t count;
    // The outs are aligned, and written past the caches.
    bool stream;
};

}  // namespace pace::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace pace::kernels {
namespace HWY_NAMESPACE {

template <class Type>
const typename Type::Element* source_at(const Source& source, size_t element) {
    return reinterpret_cast<const typename Type::Element*>(source.data) + element;
}

template <class Type>
typename Type::Element* out_at(std::byte* out, size_t element) {
    return reinterpret_cast<typename Type::Element*>(out) + element;
}

// Sets lo and hi to the products of a source's weight and the elements at `from`.
template <class Type, bool kWeighted, class V>
HWY_INLINE void load_term(const typename Type::Element* from, V weight, V& lo, V& hi) {
    Type::load(from, lo, hi);
    if constexpr (kWeighted) {
        lo = hn::Mul(lo, weight);
        hi = hn::Mul(hi, weight);
    }
}

template <class Type, bool kWeighted, class V>
HWY_INLINE void add_term(const typename Type::Element* from, V weight, V& lo, V& hi) {
    V term_lo;
    V term_hi;
    load_term<Type, kWeighted>(from, weight, term_lo, term_hi);
    lo = hn::Add(lo, term_lo);
    hi = hn::Add(hi, term_hi);
}

template <class Type, bool kWeighted, class V>
HWY_INLINE void finish(V lo, V hi, V scale, typename Type::Packed& first,
                       typename Type::Packed& second) {
    const typename Type::Tag d;
    if constexpr (kWeighted) {
        lo = hn::Mul(lo, scale);
        hi = hn::Mul(hi, scale);
    }
    Type::pack(canonical_nan(d, lo), canonical_nan(d, hi), first, second);
}

// Writes a pair of vectors: past the caches if `stream`.
template <class Type>
HWY_INLINE void put(const typename Type::Packed& first, const typename Type::Packed& second,
                    bool stream, typename Type::Element* to) {
    if (stream)
        Type::stream(first, second, to);
    else
        Type::store(first, second, to);
}

// Sums two pairs of vectors at a time. This is enough work per source to hide the change of stream.
// Returns the number of elements done.
template <class Type, bool kWeighted>
size_t sum_rows(const Sum& sum) {
    using Tag = typename Type::Tag;
    using Lane = hn::TFromD<Tag>;
    using V = hn::Vec<Tag>;
    const Tag d;
    const size_t pair = 2 * hn::Lanes(d);
    const V scale = hn::Set(d, static_cast<Lane>(sum.scale));
    size_t i = 0;
    for (; i + 2 * pair <= sum.count; i += 2 * pair) {
        const auto* from = source_at<Type>(sum.sources[0], sum.in_first + i);
        V weight = hn::Set(d, static_cast<Lane>(sum.sources[0].weight * sum.headroom));
        V a0;
        V a1;
        V b0;
        V b1;
        load_term<Type, kWeighted>(from, weight, a0, a1);
        load_term<Type, kWeighted>(from + pair, weight, b0, b1);
        for (const Source& source : sum.sources.subspan(1)) {
            from = source_at<Type>(source, sum.in_first + i);
            weight = hn::Set(d, static_cast<Lane>(source.weight * sum.headroom));
            add_term<Type, kWeighted>(from, weight, a0, a1);
            add_term<Type, kWeighted>(from + pair, weight, b0, b1);
        }
        typename Type::Packed p0;
        typename Type::Packed p1;
        typename Type::Packed q0;
        typename Type::Packed q1;
        finish<Type, kWeighted>(a0, a1, scale, p0, p1);
        finish<Type, kWeighted>(b0, b1, scale, q0, q1);
        for (std::byte* out : sum.outs) {
            auto* to = out_at<Type>(out, sum.out_first + i);
            put<Type>(p0, p1, sum.stream, to);
            put<Type>(q0, q1, sum.stream, to + pair);
        }
    }
    return i;
}

// Sums the remaining elements through a buffer of one pair. So the arithmetic is the same, and
// nothing beyond the end is touched.
template <class Type, bool kWeighted>
void sum_tail(const Sum& sum, size_t i) {
    using Tag = typename Type::Tag;
    using Lane = hn::TFromD<Tag>;
    using V = hn::Vec<Tag>;
    using Element = typename Type::Element;
    const Tag d;
    const V scale = hn::Set(d, static_cast<Lane>(sum.scale));
    HWY_ALIGN Element buffer[2 * HWY_MAX_BYTES / sizeof(Lane)] = {};
    while (i < sum.count) {
        const size_t n = std::min(2 * hn::Lanes(d), sum.count - i);
        V lo = hn::Zero(d);
        V hi = hn::Zero(d);
        for (size_t k = 0; k < sum.sources.size(); ++k) {
            std::memcpy(buffer, source_at<Type>(sum.sources[k], sum.in_first + i),
                        n * sizeof(Element));
            const V weight = hn::Set(d, static_cast<Lane>(sum.sources[k].weight * sum.headroom));
            if (k == 0)
                load_term<Type, kWeighted>(buffer, weight, lo, hi);
            else
                add_term<Type, kWeighted>(buffer, weight, lo, hi);
        }
        typename Type::Packed first;
        typename Type::Packed second;
        finish<Type, kWeighted>(lo, hi, scale, first, second);
        Type::store(first, second, buffer);
        for (std::byte* out : sum.outs)
            std::memcpy(out_at<Type>(out, sum.out_first + i), buffer, n * sizeof(Element));
        i += n;
    }
}

template <class Type>
void sum_type(const Sum& sum) {
    const auto is_one = [](const Source& source) { return source.weight == 1.0; };
    if (sum.scale == 1.0 && sum.headroom == 1.0 &&
        std::all_of(sum.sources.begin(), sum.sources.end(), is_one))
        sum_tail<Type, false>(sum, sum_rows<Type, false>(sum));
    else
        sum_tail<Type, true>(sum, sum_rows<Type, true>(sum));
    if (sum.stream) hwy::FlushStream();
}

void sum_any(protocol::DType dtype, const Sum& sum) {
    switch (dtype) {
        case protocol::DType::f32:
            return sum_type<F32>(sum);
        case protocol::DType::f64:
            return sum_type<F64>(sum);
        case protocol::DType::f16:
            return sum_type<F16>(sum);
        case protocol::DType::bf16:
            return sum_type<Bf16>(sum);
        case protocol::DType::u32:  // indices are never summed
            break;
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace pace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace pace::kernels {

HWY_EXPORT(sum_any);

namespace {

// From this size on, cached output would only evict useful data. The value is a guess at a share of
// a last-level cache.
constexpr size_t kStreamBytesMin = size_t{4} << 20U;  // a guess at a share of a last-level cache
constexpr size_t kStreamAlignment = 64;

// Streaming stores leave the caches to other data. If an out is also a source, its lines are in the
// cache already.
bool should_stream(protocol::DType dtype, const Sum& sum) {
    const size_t size = protocol::size_of(dtype);
    if (sum.count * size * sum.outs.size() < kStreamBytesMin) return false;
    for (const std::byte* out : sum.outs) {
        const auto address = reinterpret_cast<uintptr_t>(out + sum.out_first * size);
        if (address % kStreamAlignment != 0) return false;
        for (const Source& source : sum.sources)
            if (source.data == out) return false;
    }
    return true;
}

void zero(protocol::DType dtype, std::span<std::byte* const> outs, size_t count, size_t first) {
    const size_t size = protocol::size_of(dtype);
    for (std::byte* out : outs) std::memset(out + first * size, 0, count * size);
}

}  // namespace

void weighted_sum(protocol::DType dtype, std::span<const Source> sources, double scale,
                  std::byte* out, size_t count, size_t first) {
    const std::span<std::byte* const> outs(&out, 1);
    if (sources.empty()) return zero(dtype, outs, count, 0);
    const double room = headroom(sources.size(), scale);
    const Sum sum{sources, room, scale / room, outs, first, 0, count, false};
    HWY_DYNAMIC_DISPATCH(sum_any)(dtype, sum);
}

void weighted_sum_into_all(protocol::DType dtype, std::span<const Source> sources, double scale,
                           std::span<std::byte* const> outs, size_t count, size_t first) {
    if (sources.empty()) return zero(dtype, outs, count, first);
    const double room = headroom(sources.size(), scale);
    Sum sum{sources, room, scale / room, outs, first, first, count, false};
    sum.stream = should_stream(dtype, sum);
    HWY_DYNAMIC_DISPATCH(sum_any)(dtype, sum);
}

void copy_into_all(const std::byte* source, std::span<std::byte* const> outs, size_t bytes,
                   size_t first) {
    // The size of a tile that stays in the first-level cache while it is written to each out.
    constexpr size_t kTileBytes = 8192;
    for (size_t i = 0; i < bytes; i += kTileBytes) {
        const size_t n = std::min(kTileBytes, bytes - i);
        for (std::byte* out : outs) std::memcpy(out + first + i, source + i, n);
    }
}

}  // namespace pace::kernels

#endif  // HWY_ONCE
