#include "daemon/sparse/residual/gradient.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/half.h"

namespace pace::sparse {

using protocol::DType;

namespace {

constexpr size_t kGradientGrain = size_t{1} << 16;  // elements of one piece of work

template <typename Element>
Element load_element(const std::byte* data, size_t index) {
    Element element;
    std::memcpy(&element, data + index * sizeof(Element), sizeof(Element));
    return element;
}

float to_float(DType dtype, const std::byte* data, size_t index) {
    switch (dtype) {
        case DType::f32:
            return load_element<float>(data, index);
        case DType::f64:
            return static_cast<float>(load_element<double>(data, index));
        case DType::f16:
            return base::float_from_f16(load_element<uint16_t>(data, index));
        case DType::bf16:
            return base::float_from_bf16(load_element<uint16_t>(data, index));
        case DType::u32:  // indices are never added
            break;
    }
    return 0;
}

template <typename Element>
void store_element(std::byte* data, size_t index, Element element) {
    std::memcpy(data + index * sizeof(Element), &element, sizeof(Element));
}

}  // namespace

double room_for(size_t members) {
    return static_cast<double>(std::bit_ceil(members));
}

void store_scaled(DType dtype, float value, double scale, std::byte* data, size_t index) {
    if (dtype == DType::f64) {
        const double scaled = static_cast<double>(value) * scale;
        return store_element(data, index,
                             scaled == scaled ? scaled : std::numeric_limits<double>::quiet_NaN());
    }
    float scaled = value * static_cast<float>(scale);
    if (scaled != scaled) scaled = std::numeric_limits<float>::quiet_NaN();
    if (dtype == DType::f32) return store_element(data, index, scaled);
    store_element(
        data, index,
        dtype == DType::f16 ? base::f16_from_float(scaled) : base::bf16_from_float(scaled));
}

void add_residual(DType dtype, std::span<const kernels::Source> members, size_t first, size_t count,
                  const std::byte* residual, double scale, std::byte* out) {
    // Adds the members in their own type, one tile at a time. Then adds the residual in f32.
    constexpr size_t kTileElements = 1024;
    alignas(64) std::array<std::byte, kTileElements * sizeof(double)> own;
    alignas(64) std::array<float, kTileElements> single;
    const double room = room_for(members.size());
    for (size_t i = 0; i < count; i += kTileElements) {
        const size_t n = std::min(kTileElements, count - i);
        kernels::weighted_sum(dtype, members, 1.0 / room, own.data(), n, first + i);
        for (size_t j = 0; j < n; ++j) single[j] = to_float(dtype, own.data(), j);
        const std::array<kernels::Source, 2> both = {
            {{std::as_bytes(std::span(single)).data(), room},
             {residual + (first + i) * sizeof(float), 1.0}}};
        kernels::weighted_sum(DType::f32, both, scale, out + i * sizeof(float), n);
    }
}

void gather_gradient(const collectives::LocalPart& part, const Packed& packed,
                     std::span<const float> residual, std::span<float> gradient, size_t begin,
                     size_t end, kernels::WorkerPool& pool) {
    const auto gather = [&](size_t from, size_t to) {
        std::vector<kernels::Source> sources;
        packed.for_each(begin + from, begin + to,
                        [&](size_t segment, size_t first, size_t count, size_t place) {
                            const DType dtype = part.layout().segments()[segment].dtype;
                            const std::span<const kernels::Source> members = part.sources(segment);
                            // The residual and the members both count from the segment's first
                            // element.
                            const std::byte* owed =
                                std::as_bytes(residual.subspan(place - first)).data();
                            std::byte* out = std::as_writable_bytes(gradient.subspan(place)).data();
                            if (dtype != DType::f32)
                                return add_residual(dtype, members, first, count, owed, 1.0, out);
                            // The residual is one more addend.
                            sources.assign(members.begin(), members.end());
                            sources.push_back({owed, 1.0});
                            kernels::weighted_sum(DType::f32, sources, 1.0, out, count, first);
                        });
    };
    if (end > begin) pool.parallel_for(end - begin, kGradientGrain, gather);
}

void scatter_result(const Entries& entries, double scale, const Packed& packed,
                    std::span<std::byte> result, kernels::WorkerPool& pool) {
    const collectives::Layout& layout = packed.layout();
    layout.zero_padding({0, layout.bytes()}, result.data());
    const auto scatter = [&](size_t begin, size_t end) {
        const auto next = std::lower_bound(entries.indices.begin(), entries.indices.end(), begin);
        auto at = static_cast<size_t>(next - entries.indices.begin());
        packed.for_each(begin, end, [&](size_t segment, size_t first, size_t count, size_t place) {
            const DType dtype = layout.segments()[segment].dtype;
            std::byte* out = result.data() + layout.offset(segment);
            std::memset(out + first * protocol::size_of(dtype), 0,
                        count * protocol::size_of(dtype));
            for (; at < entries.size() && entries.indices[at] < place + count; ++at)
                store_scaled(dtype, entries.values[at], scale, out,
                             entries.indices[at] - packed.begin(segment));
        });
    };
    if (packed.count() > 0) pool.parallel_for(packed.count(), kGradientGrain, scatter);
}

bool is_zero(DType dtype, const std::byte* data, size_t index) {
    // Compares bits, because a thread may be set to take subnormal numbers for zero.
    switch (dtype) {
        case DType::f32:
            return load_element<uint32_t>(data, index) << 1U == 0;
        case DType::f64:
            return load_element<uint64_t>(data, index) << 1U == 0;
        case DType::f16:
        case DType::bf16:
            return (load_element<uint16_t>(data, index) & 0x7FFFU) == 0;
        case DType::u32:  // indices are never added
            break;
    }
    return false;
}

bool becomes_zero(DType dtype, float value, double scale) {
    std::array<std::byte, sizeof(double)> element{};
    store_scaled(dtype, value, scale, element.data(), 0);
    return is_zero(dtype, element.data(), 0);
}

void convert_result(const collectives::Layout& layout, std::span<const std::byte> sum, double scale,
                    const Packed& packed, std::span<std::byte> result, kernels::WorkerPool& pool) {
    packed.layout().zero_padding({0, packed.layout().bytes()}, result.data());
    const auto convert = [&](size_t begin, size_t end) {
        packed.for_each(begin, end, [&](size_t segment, size_t first, size_t count, size_t) {
            const DType dtype = packed.layout().segments()[segment].dtype;
            const std::byte* from = sum.data() + layout.offset(segment);
            std::byte* out = result.data() + packed.layout().offset(segment);
            for (size_t i = first; i < first + count; ++i)
                store_scaled(dtype, load_element<float>(from, i), scale, out, i);
        });
    };
    if (packed.count() > 0) pool.parallel_for(packed.count(), kGradientGrain, convert);
}

}  // namespace pace::sparse
