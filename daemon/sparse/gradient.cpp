#include "daemon/sparse/gradient.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "daemon/kernels/half.h"

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
            return kernels::float_from_f16(load_element<uint16_t>(data, index));
        case DType::bf16:
            return kernels::float_from_bf16(load_element<uint16_t>(data, index));
    }
    return 0;
}

template <typename Element>
void store_element(std::byte* data, size_t index, Element element) {
    std::memcpy(data + index * sizeof(Element), &element, sizeof(Element));
}

void from_float(DType dtype, float value, double scale, std::byte* data, size_t index) {
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
        dtype == DType::f16 ? kernels::f16_from_float(scaled) : kernels::bf16_from_float(scaled));
}

// The members' sum in their own type, a tile at a time, then in f32 with the residual.
void gather_tiles(DType dtype, std::span<const kernels::Source> sources, size_t first, size_t count,
                  const float* residual, float* out) {
    constexpr size_t kTileElements = 1024;
    alignas(64) std::array<std::byte, kTileElements * sizeof(double)> tile;
    for (size_t i = 0; i < count; i += kTileElements) {
        const size_t n = std::min(kTileElements, count - i);
        kernels::weighted_sum(dtype, sources, 1.0, tile.data(), n, first + i);
        for (size_t j = 0; j < n; ++j)
            out[i + j] = add(to_float(dtype, tile.data(), j), residual[i + j]);
    }
}

}  // namespace

void gather_gradient(const collectives::LocalPart& part, const Packed& packed,
                     std::span<const float> residual, std::span<float> gradient, size_t begin,
                     size_t end, kernels::WorkerPool& pool) {
    const auto gather = [&](size_t from, size_t to) {
        std::vector<kernels::Source> sources;
        packed.for_each(
            begin + from, begin + to,
            [&](size_t segment, size_t first, size_t count, size_t place) {
                const DType dtype = part.layout().segments()[segment].dtype;
                const std::span<const kernels::Source> members = part.sources(segment);
                if (dtype != DType::f32)
                    return gather_tiles(dtype, members, first, count, residual.data() + place,
                                        gradient.data() + place);
                // The residual is one more addend; its elements count from this piece.
                sources.clear();
                for (const kernels::Source& member : members)
                    sources.push_back({member.data + first * sizeof(float), member.weight});
                sources.push_back({std::as_bytes(residual.subspan(place)).data(), 1.0});
                kernels::weighted_sum(DType::f32, sources, 1.0,
                                      std::as_writable_bytes(gradient.subspan(place)).data(),
                                      count);
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
                from_float(dtype, entries.values[at], scale, out,
                           entries.indices[at] - packed.begin(segment));
        });
    };
    if (packed.count() > 0) pool.parallel_for(packed.count(), kGradientGrain, scatter);
}

}  // namespace pace::sparse
